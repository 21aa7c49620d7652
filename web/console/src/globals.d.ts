// What the build puts in: see ../build.

/** The pages by the name of their folder, each with the path of its style sheet below /console/, or "". */
declare const PAGES: Record<string, string>;
/** The path of the shared worker below /console/. */
declare const WORKER: string;
