// A plausible document of `theory cost`: every kind of plot, no data, texts, lists, a check that fails.
const kTokens = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48];
const kWidths = [8, 16, 32, 64, 128];

function costOf(pattern, norm, tokens) {
  if (norm === "frobenius") return (pattern === "sink" ? 1.1 : 0.8) * tokens ** 0.5;
  return pattern === "sink" ? 1.41 * tokens ** 0.5 : 0.93 * tokens;
}

function sweepRows() {
  const rows = [];
  for (const norm of ["nuclear", "frobenius"]) {
    for (const pattern of ["sink", "diagonal"]) {
      for (const tokens of kTokens) {
        // The solver was not asked for every size, and gave up on one.
        if (pattern === "diagonal" && tokens === 6) continue;
        const cost = pattern === "diagonal" && tokens === 48 ? null : costOf(pattern, norm, tokens);
        const width = cost === null ? 0 : cost * 0.002 * tokens;
        rows.push([
          pattern,
          norm,
          tokens,
          tokens + 1,
          cost === null ? null : cost - width,
          cost === null ? null : cost + width,
          cost,
          Array.from({ length: tokens + 1 }, (_v, i) => (i === 3 ? null : -1 / (i + 3))),
        ]);
      }
    }
  }
  return rows;
}

function fitRows() {
  return [
    ["sink", "nuclear", 0.50123, 0.004, 1.41, 12, 48],
    ["diagonal", "nuclear", 0.99871, 0.006, 0.93, 12, 32],
    ["sink", "frobenius", 0.5, 0.001, 1.4, 12, 48],
    ["diagonal", "frobenius", null, null, null, 12, 48],
  ];
}

function winnerRows() {
  return kWidths.flatMap((width) =>
    kTokens
      .filter((tokens) => tokens <= width)
      .map((tokens) => {
        const ratio = Math.log10(costOf("diagonal", "nuclear", tokens) / 5) + Math.log10(width / 32) / 2;
        return [tokens, width, ratio, ratio > 0.05 ? "sink" : ratio < -0.05 ? "diagonal" : "neither"];
      }),
  );
}

const columns = (...given) => given.map(([name, unit, definition]) => ({ name, unit, definition }));

export function syntheticTheory() {
  const plot = (members) => ({
    kind: "lines",
    table: "sweep",
    title: "",
    x: "T",
    y: "cost",
    series: [],
    lower: "",
    upper: "",
    value: "",
    fit: "",
    ...members,
  });
  return {
    schema: "sinkscope.theory/1",
    tool: { name: "sinkscope", version: "0.1.0", git: "0000000" },
    what: "cost",
    settings: {
      geometry: ["orthonormal"],
      gap: 0.001,
      mask: "causal",
      patterns: ["sink", "diagonal"],
      seed: 0,
      tokens: kTokens,
    },
    tables: [
      {
        name: "checks",
        title: "Checks",
        columns: columns(
          ["check", "", "what must hold"],
          ["expected", "", "the value or relation by theory"],
          ["measured", "", "what was found"],
          ["holds", "", "1: it does"],
        ),
        rows: [
          ["exponent of the sink's nuclear norm", "0.5 within 0.02", "0.50123", 1],
          ["exponent of the diagonal's nuclear norm", "1 within 0.02", "0.99871", 1],
          ["every gap is reached", "<= 0.001", "0.19 at T = 48 <diagonal>", 0],
        ],
      },
      {
        name: "sweep",
        title: "Least W_QK of each pattern",
        columns: columns(
          ["pattern", "", "which keys must win: token 0 (sink) or the query's own (diagonal)"],
          ["norm", "", "of W_QK: nuclear (sum of singular values) or Frobenius"],
          ["T", "", "context tokens beside the sink"],
          ["d", "", "their width"],
          ["lower", "", "certified lower bound of the least norm"],
          ["upper", "", "norm of the matrix that was found"],
          ["cost", "", "middle of both bounds (method.md 8)"],
          ["dual", "", "weights of the certificate"],
        ),
        rows: sweepRows(),
      },
      {
        name: "fits",
        title: "Power laws over the upper half of T",
        columns: columns(
          ["pattern", "", "as in the sweep"],
          ["norm", "", "as in the sweep"],
          ["exponent", "", "b of cost = a T^b by least squares of the logarithms"],
          ["standard_error", "", "of the exponent"],
          ["factor", "", "a"],
          ["from", "", "first T of the fit"],
          ["to", "", "last T of the fit"],
        ),
        rows: fitRows(),
      },
      {
        name: "winners",
        title: "Where the diagonal is the dearer",
        columns: columns(
          ["T", "", "context tokens"],
          ["d", "", "width"],
          ["log_ratio", "log10", "log10 of the diagonal's cost over the sink's; above 0 the sink is cheaper"],
          ["winner", "", "the cheaper pattern, or neither within 12 %"],
        ),
        rows: winnerRows(),
      },
    ],
    plots: [
      plot({
        kind: "log-log",
        title: "Least W_QK by number of tokens",
        series: ["pattern", "norm"],
        fit: "fits",
      }),
      plot({
        title: "The bounds of each cost",
        series: ["pattern", "norm"],
        lower: "lower",
        upper: "upper",
      }),
      plot({ kind: "map", table: "winners", title: "Diagonal against sink", y: "d", value: "log_ratio" }),
      plot({ kind: "map", table: "winners", title: "The cheaper pattern", y: "d", value: "winner" }),
      plot({ table: "fits", title: "Exponents by pattern", x: "pattern", y: "exponent", series: ["norm"] }),
    ],
    findings: [
      "A diagonal costs T^0.999 in the nuclear norm, a sink only T^0.501: from T = 6 on the sink is the cheaper.",
      "In the Frobenius norm both grow as T^0.5: there is no separation, as the control should show.",
    ],
    warnings: ["1 of 40 programs stopped at its limit of iterations; its bounds are printed"],
    timing: { seconds: 12.34 },
  };
}

const kHuge = "x".repeat(200_000);

/// The same shape, with everything that could go wrong in one of its places.
export function hostileTheory() {
  const document = syntheticTheory();
  const markup = "</script><img src=x onerror=alert(1)>";
  const [checks, sweep, fits, winners] = document.tables;
  document.what = `${markup}/../cost`;
  document.settings = {
    [markup]: markup,
    list: Array.from({ length: 5000 }, (_v, i) => i),
    deep: { a: [{}] },
  };
  document.findings = [markup, 7, null];
  document.warnings = [markup];
  checks.rows.push([markup, null, 3, "1"], ["too short"]);
  sweep.title = markup;
  sweep.columns[0].definition = markup;
  sweep.rows.push(
    [markup, kHuge, 1e308, 1, -1e308, 1e308, 5e-324, []],
    [markup, "nuclear", -1, 1, 1, 1, 1e-320, [1]],
    ["sink", "nuclear", 0, 1, 1, 1, 0, []],
    ["sink", "nuclear", 2, 1, 1, 1, { a: 1 }, true],
    ["sink"],
    "row",
  );
  for (let i = 0; i < 40; ++i) sweep.rows.push([`pattern ${i}`, "nuclear", 2 + i, 1, 1, 2, 1 + i, []]);
  fits.rows.push(["sink", "nuclear", 1e308, 1, 1e308, 1e-300, 1e300]);
  winners.rows.push([1e308, -1e308, 1e308, kHuge], [2, 8, -1e308, null], [2, 8, 0, markup]);
  document.tables.push(
    { ...winners, rows: [] },
    { name: "twice", columns: [{ name: "a" }, { name: "a" }], rows: [] },
    { name: "none", columns: [], rows: [] },
    { name: "bare", columns: [{ name: "a" }], rows: 7 },
    { name: "sides", columns: [{ name: "a" }, { name: "b" }], rows: [] },
    null,
  );
  const sides = document.tables.find((table) => table?.name === "sides");
  for (let i = 0; i < 600; ++i) sides.rows.push([i, i]);
  const plot = (members) => ({ ...document.plots[1], ...members });
  document.plots.push(
    plot({ title: "no such table", table: "absent" }),
    plot({ title: "no such column", y: "absent" }),
    plot({ title: "a list", y: "dual" }),
    plot({ title: "a text", y: "norm" }),
    plot({ title: "a pie", kind: "pie" }),
    plot({ title: "no fit", kind: "log-log", fit: "absent" }),
    plot({ kind: "map", table: "sides", title: "too large", x: "a", y: "b", value: "a", series: [] }),
    plot({ kind: "map", table: "bare", title: "empty", x: "a", y: "a", value: "a", series: [] }),
    5,
  );
  return document;
}
