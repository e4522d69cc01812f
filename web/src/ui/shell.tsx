import type { ComponentChildren } from "preact";

import type { Section } from "../data/document";
import { fact, integer } from "./format";
import type { ThemeName } from "./route";

interface ShellProps {
  name: string;
  /// facts under the name
  parts: string[];
  theme: ThemeName;
  onTheme: (theme: ThemeName) => void;
  navigation: string;
  links: { href: string; text: string; current?: boolean; onFollow?: () => void }[];
  question: string;
  notices: string[];
  tool: Section | undefined;
  /// what the reader must know about the numbers
  note: string;
  children: ComponentChildren;
}

/// What every page has around its views.
export function Shell(props: ShellProps) {
  const { theme, notices, tool } = props;
  return (
    <>
      <header>
        <div class="title">
          <h1>
            <span class="brand">sinkscope</span> {props.name}
          </h1>
          <p>{props.parts.join(" · ")}</p>
        </div>
        <label class="control theme">
          Theme{" "}
          <select
            id="theme"
            value={theme}
            onChange={(event) => props.onTheme(event.currentTarget.value as ThemeName)}
          >
            <option value="system">system</option>
            <option value="light">light</option>
            <option value="dark">dark</option>
          </select>
        </label>
        <nav aria-label={props.navigation}>
          {props.links.map(({ href, text, current, onFollow }) => (
            <a key={text} href={href} aria-current={current ? "page" : undefined} onClick={onFollow}>
              {text}
            </a>
          ))}
        </nav>
      </header>
      <main>
        {props.question && <p class="question">{props.question}</p>}
        {notices.length > 0 && (
          <details class="card warning">
            <summary>
              {integer(notices.length)} parts of the data do not fit the rest and are not shown
            </summary>
            <ul>
              {notices.slice(0, 20).map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          </details>
        )}
        {props.children}
      </main>
      <footer>
        Written by {fact(tool?.["name"])} {fact(tool?.["version"])}. {props.note} This page needs no network.
      </footer>
    </>
  );
}
