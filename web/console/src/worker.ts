// The shared worker: all tabs of a browser share one connection per stream.
import { Hub, type Order } from "./lib/hub";

const hub = new Hub<MessagePort>((port, news) => port.postMessage(news));

(self as unknown as { onconnect: (e: MessageEvent) => void }).onconnect = (e) => {
  const port = e.ports[0];
  port.onmessage = (m: MessageEvent<Order>) => hub.take(port, m.data);
};
