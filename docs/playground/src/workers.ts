/** Workers that have the page's own content security policy. */

/**
 * Start a module of this site as a worker. One that is started by its address has the policy that the server sends with
 * it, which a static host may not do; one from a blob has the page's.
 */
export function startWorker(file: string): Worker {
  const address = new URL(file, document.baseURI).href;
  const code = `import ${JSON.stringify(address)};`;
  const blob = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  return new Worker(blob, { type: "module" });
}
