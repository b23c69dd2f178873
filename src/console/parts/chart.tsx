// A chart over time. A point opens what is behind it, by pointer or by keyboard: the arrow keys
// move along the steps, Enter opens one.

import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot, { type Options } from 'uplot'
import { showTime } from '../display.ts'

const HEIGHT = 150
/** Width of a bar: the share of its step, and the most, pixels. */
const BAR_SHARE = 0.85
const MAXIMUM_BAR_PX = 40
const DAY_SECONDS = 86_400
interface ChartProps {
  readonly title: string
  /** Seconds since 1970, rising. */
  readonly times: readonly number[]
  /** What a value counts. */
  readonly label: string
  /** One for each of `times`. */
  readonly values: readonly (number | null)[]
  readonly show: (value: number | null) => string
  /** Opens what is behind a step; it begins at `times[index]`. */
  readonly onOpen?: (index: number) => void
}

export function Chart({ title, times, label, values, show, onOpen }: ChartProps) {
  const [at, setAt] = useState<number | null>(null)
  const { element, chart } = usePlot(show, setAt, onOpen)
  useEffect(() => {
    chart.current?.setData([[...times], [...values]])
  }, [times, values, show])
  const last = times.length - 1
  const shown = Math.min(at ?? last, last)
  const value =
    shown < 0
      ? 'no data'
      : `${showTime(new Date(times[shown]! * 1000).toISOString()).slice(0, 16)}: ${label} ${show(values[shown] ?? null)}`
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: 0, End: last }
    const next = steps[event.key]
    if (next !== undefined) {
      event.preventDefault()
      const index = Math.min(Math.max(next, 0), last)
      setAt(index)
      const plot = chart.current
      if (plot !== null && index >= 0)
        plot.setCursor({ left: plot.valToPos(times[index]!, 'x'), top: HEIGHT / 3 }, false)
    } else if (event.key === 'Enter' && shown >= 0) onOpen?.(shown)
  }
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong> <span class="muted">{value}</span>
      </figcaption>
      <div
        ref={element}
        role="slider"
        tabIndex={0}
        aria-label={`${title} over time`}
        aria-valuemin={0}
        aria-valuemax={Math.max(last, 0)}
        aria-valuenow={Math.max(shown, 0)}
        aria-valuetext={value}
        onKeyDown={press}
        onMouseLeave={() => setAt(null)}
      />
    </figure>
  )
}

/**
 * Draws the chart into `element`, and anew when its width or the theme changes. The caller sets its
 * data. A click calls `onOpen`.
 */
function usePlot(
  show: ChartProps['show'],
  setAt: (index: number | null) => void,
  onOpen: ChartProps['onOpen'],
) {
  const element = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const open = useRef(onOpen)
  open.current = onOpen
  useEffect(() => {
    const target = element.current!
    const draw = () => {
      chart.current?.destroy()
      chart.current = new uPlot(optionsOf(target, show, setAt), [[]], target)
      chart.current.over.addEventListener('click', () => {
        const { idx } = chart.current?.cursor ?? {}
        if (typeof idx === 'number') open.current?.(idx)
      })
    }
    draw()
    const sized = new ResizeObserver(() =>
      chart.current?.setSize({ width: target.clientWidth, height: HEIGHT }),
    )
    sized.observe(target)
    // The canvas holds the colours of the theme in which it was drawn.
    const theme = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => {
      const { data } = chart.current!
      draw()
      chart.current?.setData(data)
    }
    theme.addEventListener('change', redraw)
    return () => {
      theme.removeEventListener('change', redraw)
      sized.disconnect()
      chart.current?.destroy()
      chart.current = null
    }
  }, [show])
  return { element, chart }
}

function optionsOf(
  target: HTMLElement,
  show: (value: number | null) => string,
  setAt: (index: number | null) => void,
): Options {
  const style = getComputedStyle(target)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  }
  return {
    width: target.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false } },
    scales: {
      x: { range: ({ data: [times] }, low, high) => withMargin(times, low, high) },
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        values: (_plot, ticks, _axis, _space, step) => ticks.map((at) => tick(at, step)),
      },
      { ...axis, size: 56, values: (_plot, ticks) => ticks.map(show) },
    ],
    series: [
      {},
      {
        stroke: colour('--accent'),
        fill: colour('--accent'),
        paths: uPlot.paths.bars!({ size: [BAR_SHARE, MAXIMUM_BAR_PX] }),
        points: { show: false },
      },
    ],
    hooks: { setCursor: [({ cursor }) => setAt(cursor.idx ?? null)] },
  }
}

/** Half a step on both sides, so that the first and the last bar are whole. */
function withMargin(times: ArrayLike<number>, low: number, high: number): [number, number] {
  const step = times.length > 1 ? times[1]! - times[0]! : DAY_SECONDS
  return [low - step / 2, high + step / 2]
}

/** The time of a tick in the reader's zone: its day, or its hour and minute. */
function tick(seconds: number, step: number): string {
  const shown = showTime(new Date(seconds * 1000).toISOString())
  return step >= DAY_SECONDS ? shown.slice(5, 10) : shown.slice(11, 16)
}
