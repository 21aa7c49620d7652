import { useState } from "preact/hooks";

export interface Series { label: string; values: number[] }

/** Values over time or by name as stacked bars or lines. The same figures follow as a
 * table for screen readers. format writes a value. */
export function Chart({ title, labels, series, kind = "bars", format = String, height = 180 }: {
  title: string; labels: string[]; series: Series[]; kind?: "bars" | "lines"; format?: (n: number) => string; height?: number;
}) {
  const [at, setAt] = useState(-1);
  const width = 640, left = 56, bottom = 22, top = 8;
  const sums = labels.map((_, i) => series.reduce((sum, s) => sum + (s.values[i] || 0), 0));
  const most = nice(Math.max(...(kind === "bars" ? sums : series.flatMap((s) => s.values)), 0));
  const step = (width - left) / Math.max(labels.length, 1);
  const y = (n: number) => top + (height - top - bottom) * (1 - n / most);
  const x = (i: number) => left + step * (i + 0.5);
  const every = Math.ceil(labels.length / 8);
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true" onPointerLeave={() => setAt(-1)} onPointerMove={(e) => {
        const box = e.currentTarget.getBoundingClientRect();
        setAt(Math.floor((((e.clientX - box.left) / box.width) * width - left) / step));
      }}>
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <line class="chart-grid" x1={left} x2={width} y1={y(most * part)} y2={y(most * part)} />
            <text class="chart-text" x={left - 6} y={y(most * part) + 4} text-anchor="end">{format(most * part)}</text>
          </g>
        ))}
        {at >= 0 && at < labels.length && <rect class="chart-at" x={left + step * at} width={step} y={top} height={height - top - bottom} />}
        {kind === "bars" ? labels.map((_, i) => {
          let base = 0;
          return series.map((s, n) => {
            const from = base;
            base += s.values[i] || 0;
            return <rect key={`${i}/${n}`} class={"chart-" + (n % 6)} x={x(i) - step * 0.36} width={step * 0.72} y={y(base)} height={Math.max(0, y(from) - y(base))} />;
          });
        }) : series.map((s, n) => <polyline key={n} class={"chart-line chart-" + (n % 6)} points={s.values.map((v, i) => `${x(i)},${y(v || 0)}`).join(" ")} />)}
        {labels.map((label, i) => i % every === 0 && <text key={i} class="chart-text" x={x(i)} y={height - 6} text-anchor="middle">{label}</text>)}
      </svg>
      <figcaption class="chart-legend">
        <span class="faint">{at >= 0 && at < labels.length ? labels[at] : title}</span>
        {series.map((s, n) => <span key={s.label}><i class={"chart-key chart-" + (n % 6)} />{s.label}{at >= 0 && at < labels.length && `: ${format(s.values[at] || 0)}`}</span>)}
      </figcaption>
      <table class="sr-only">
        <caption>{title}</caption>
        <thead><tr><td />{series.map((s) => <th key={s.label} scope="col">{s.label}</th>)}</tr></thead>
        <tbody>{labels.map((label, i) => <tr key={i}><th scope="row">{label}</th>{series.map((s) => <td key={s.label}>{format(s.values[i] || 0)}</td>)}</tr>)}</tbody>
      </table>
    </figure>
  );
}

// nice is the next of 1, 2, 5, 10, 20, ... that is not less; of fractions too.
function nice(n: number): number {
  if (n <= 0) return 1;
  const ten = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].map((f) => f * ten).find((v) => v >= n)!;
}
