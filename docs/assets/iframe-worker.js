// A page that was opened from disk may not start a Worker, and the theme's search is one. Here the worker's script runs in a
// hidden frame instead. The theme would load such a script from elsewhere; nothing is fetched when these pages are read.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = () => {
        this.inside = inside;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      inside.document.body.appendChild(script);
    }

    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
  };
}
