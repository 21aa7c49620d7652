// Characters that cannot be seen, or that change how their neighbours look: those that
// bot.Visible of the server escapes. A newline, a tab, and the selector after an emoji stay.
const hidden = /(?![\n\t \u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2]|(?<=[\p{So}\p{Emoji}])[\ufe0e\ufe0f])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc]/gu;

const hex = (c: string, digits: number) => c.codePointAt(0)!.toString(16).padStart(digits, "0");

/** The text with an escape such as \u202e for every character that cannot be seen, so that
 * a person reads all of what a server wrote, in its order. */
export const visible = (text: string): string =>
  text.replace(hidden, (c) => (c < "\x80" ? "\\x" + hex(c, 2) : c.length === 1 ? "\\u" + hex(c, 4) : "\\U" + hex(c, 8)));

/** A JSON value with the same escapes in its keys and texts. */
export function visibleJSON(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) return value.map(visibleJSON);
  return value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([k, v]) => [visible(k), visibleJSON(v)])) : value;
}
