/*
 * Browsers start no worker from a page that was opened as a file, and the search needs one.  On such pages a hidden
 * frame does the work: it has the names that the script of a worker uses, and passes messages both ways.
 */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      this.loaded = new Promise(resolve => script.addEventListener("load", resolve));
      script.src = new URL(address, document.baseURI);
      inside.document.body.append(script);
      this.inside = inside;
    }

    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
