/// Red, green and blue, 0..255, of #rgb, #rrggbb or rgb(r,g,b).
export function rgbOf(color: string): [number, number, number] {
  const short = /^#(.)(.)(.)$/.exec(color);
  const hex = short
    ? `#${short
        .slice(1)
        .map((c) => c + c)
        .join("")}`
    : color;
  const parts = /^#/.test(hex)
    ? [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16))
    : (color.match(/\d+/g) ?? []).map(Number);
  return [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0];
}

/// `part` of the color over the background, without transparency: SVG readers disagree on it.
export function blend(color: string, background: string, part: number): string {
  const [front, back] = [rgbOf(color), rgbOf(background)];
  return `rgb(${front.map((c, i) => Math.round(c * part + back[i]! * (1 - part))).join(",")})`;
}

/// Black or white, whichever reads better on a color.
export function inkOn(color: string): string {
  const [r, g, b] = rgbOf(color).map((c) => {
    const v = c / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b! > 0.179 ? "#000000" : "#ffffff";
}
