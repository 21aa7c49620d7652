import { render } from "preact";
import { loadTexts } from "./lib/i18n";
import { loadSession } from "./lib/session";
import { Shell } from "./shell/Shell";

void Promise.all([loadTexts("shell"), loadSession()]).then(() => {
  const page = document.getElementById("page")!;
  page.replaceChildren(); // what index.html shows until now
  render(<Shell />, page);
});
