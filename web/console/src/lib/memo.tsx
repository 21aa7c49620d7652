import { Component, type FunctionComponent } from "preact";

/** A component that is drawn again only when one of its properties changed. */
export function memo<P extends object>(Inner: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    shouldComponentUpdate(next: P) {
      const keys = new Set([...Object.keys(next), ...Object.keys(this.props)]) as Set<keyof P>;
      return [...keys].some((k) => next[k] !== (this.props as P)[k]);
    }
    render() { return <Inner {...(this.props as P)} />; }
  }
  return Memo as unknown as FunctionComponent<P>;
}
