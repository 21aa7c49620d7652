/** The address of the page itself: ".../console/". A proxy may serve legwork below a path. */
export const consoleURL = new URL(/\/assets\/[^/]*$/.test(import.meta.url) ? "../" : "./", import.meta.url);

/** The address of a path of the server: at("v1/tasks"). */
export const at = (path: string): URL => new URL("../" + path.replace(/^\//, ""), consoleURL);
