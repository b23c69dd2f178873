// A chart over time. A point opens what is behind it, by pointer or by keyboard: the arrow keys
// move along the steps, Enter opens one.

import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot, { type Options } from 'uplot'
import { amountTicks, type Period, timeTicks, type Unit } from '../axis.ts'
import { showStep } from '../dates.ts'
import { showCompact, showMs, showUsd } from '../display.ts'
import { useZone } from '../zone.ts'

const HEIGHT = 150
/** Width of a bar: the share of its step, and the most, pixels. */
const BAR_SHARE = 0.85
const MAXIMUM_BAR_PX = 40
/** Room for a tick and its label, pixels. */
const TICK_PX = 76
/** Room above the highest bar, as a share of it. */
const HEADROOM = 1.05

const SHOWN: Readonly<Record<Unit, (value: number | null) => string>> = {
  count: showCompact,
  usd: showUsd,
  ms: showMs,
}

/** What the axis covers: the period that was asked for, with or without data. */
export interface ChartTime extends Period {
  /** Length of a bar. */
  readonly stepSeconds: number
}

/** The time of an answer of the API with a period. */
export const chartTime = (
  { since, until }: { readonly since: string; readonly until: string },
  stepSeconds: number,
): ChartTime => ({ since: Date.parse(since) / 1000, until: Date.parse(until) / 1000, stepSeconds })

interface ChartProps {
  readonly title: string
  readonly time: ChartTime
  /** Start of each bar, seconds since 1970, rising. */
  readonly times: readonly number[]
  /** What a value counts. */
  readonly label: string
  readonly unit?: Unit
  /** One for each of `times`. */
  readonly values: readonly (number | null)[]
  /** Opens what is behind a step; it begins at `times[index]`. */
  readonly onOpen?: (index: number) => void
}

export function Chart({ title, time, times, label, unit = 'count', values, onOpen }: ChartProps) {
  const zone = useZone()
  const [at, setAt] = useState<number | null>(null)
  const { since, until, stepSeconds } = time
  const { element, chart } = usePlot({ since, until, stepSeconds }, unit, zone, setAt, onOpen)
  useEffect(() => {
    chart.current?.setData([times.map((begin) => begin + stepSeconds / 2), [...values]])
  }, [times, values, unit, zone, since, until, stepSeconds])
  const last = times.length - 1
  const describe = (index: number) =>
    `${showStep(times[index]! * 1000, stepSeconds, zone)}: ${label} ${SHOWN[unit](values[index] ?? null)}`
  const value = at === null || at > last ? null : describe(at)
  const press = (event: KeyboardEvent) => {
    const shown = at ?? last + 1
    const steps: Record<string, number> = { ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: 0, End: last }
    const next = steps[event.key]
    if (next !== undefined && last >= 0) {
      event.preventDefault()
      const index = Math.min(Math.max(next, 0), last)
      setAt(index)
      const plot = chart.current
      const left = plot?.valToPos(times[index]! + stepSeconds / 2, 'x') ?? 0
      plot?.setCursor({ left, top: HEIGHT / 3 }, false)
    } else if (event.key === 'Enter' && value !== null) onOpen?.(at!)
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
        aria-valuenow={Math.max(at ?? last, 0)}
        aria-valuetext={value ?? 'no step chosen'}
        onKeyDown={press}
        onMouseLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
      />
    </figure>
  )
}

/**
 * Draws the chart into `element`, and anew when its width or the theme changes. The caller sets its
 * data. A click calls `onOpen`.
 */
function usePlot(
  time: ChartTime,
  unit: Unit,
  zone: string,
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
      chart.current = new uPlot(optionsOf(target, time, unit, zone, setAt), [[]], target)
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
  }, [time.since, time.until, time.stepSeconds, unit, zone])
  return { element, chart }
}

function optionsOf(
  target: HTMLElement,
  time: ChartTime,
  unit: Unit,
  zone: string,
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
  const along = (plot: uPlot) =>
    timeTicks(time, time.stepSeconds, Math.max(2, Math.floor(plot.width / TICK_PX)), zone)
  const up = (plot: uPlot) => amountTicks((plot.scales['y']?.max ?? 1) / HEADROOM, unit)
  return {
    width: target.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false } },
    scales: {
      x: { range: [time.since, time.until] },
      y: { range: (_plot, _low, high) => [0, (high > 0 ? high : 1) * HEADROOM] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        splits: (plot) => along(plot).map(({ at }) => at),
        values: (plot) => along(plot).map(({ label }) => label),
      },
      {
        ...axis,
        size: 60,
        splits: (plot) => up(plot).map(({ at }) => at),
        values: (plot) => up(plot).map(({ label }) => label),
      },
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
