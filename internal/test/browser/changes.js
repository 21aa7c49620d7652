// Counts the changes of a document, so that a test can wait for the next one
// instead of sleeping. It runs before the page's own scripts.
(() => {
	let count = 0;
	let waiting = [];
	const changed = () => {
		count++;
		const all = waiting;
		waiting = [];
		for (const go of all) go();
	};
	new MutationObserver(changed).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
	for (const event of ["load", "input", "scroll", "focus", "transitionend", "visibilitychange"]) addEventListener(event, changed, true);
	Object.defineProperty(window, "changesForTests", {
		value: {
			count: () => count,
			// Resolves when the document differs from what it was at a count. Sizes and
			// places change without an event, so it resolves after a quarter of a
			// second in any case.
			since: (before) =>
				new Promise((go) => {
					if (count !== before) return go(true);
					waiting.push(() => go(true));
					setTimeout(() => go(false), 250);
				}),
		},
	});
})();
