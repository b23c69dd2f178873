// Renders the charts with helm, from a copy with their dependencies.

import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { findTool } from './tools.ts'

export const CHARTS = fileURLToPath(new URL('../../charts/', import.meta.url))

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: object }
  readonly [key: string]: any
}

export interface Charts {
  readonly folder: string
  /**
   * Runs helm in the folder of the charts. The repository of the image is `sidegate`, unless other
   * values say so.
   */
  helm(...args: string[]): { readonly code: number | null; readonly stdout: string; readonly stderr: string }
  /** `helm template` for the release `sidegate` in namespace `team`. @throws helm's error text */
  text(chart: string, ...args: string[]): string
  render(chart: string, ...args: string[]): KubernetesObject[]
  remove(): void
}

/** Charts with dependencies, and the values that each takes for the image. */
const IMAGES = [
  ['sidegate', 'image.yaml', 'container: { image: { repository: sidegate } }\n'],
  ['examples/app', 'app-image.yaml', 'sidegate: { image: { registry: "", repository: sidegate } }\n'],
  ['sidegate-hub', 'hub-image.yaml', 'image: { repository: sidegate }\n'],
] as const

/** Copies charts/, with the dependencies in place. @throws Error that says how to fetch helm */
export function prepareCharts(): Charts {
  const helm = findTool('helm')
  if (helm === null) throw new Error('helm not found; run node test/charts/tools.ts to fetch it')
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-charts-'))
  cpSync(CHARTS, folder, { recursive: true })
  const charts: Charts = {
    folder,
    helm(command = '', ...args) {
      // Values of later files and options win.
      const [, file] = IMAGES.findLast(([chart]) => args.includes(chart)) ?? IMAGES[0]
      const image = join(folder, file)
      const values = /^(template|lint|install)$/.test(command) ? ['-f', image] : []
      const { status, stdout, stderr } = spawnSync(helm, [command, ...values, ...args], {
        cwd: folder,
        encoding: 'utf8',
        env: {
          ...process.env,
          HELM_CACHE_HOME: join(folder, '.helm'),
          HELM_CONFIG_HOME: join(folder, '.helm'),
        },
      })
      return { code: status, stdout, stderr }
    },
    text(chart, ...args) {
      const { code, stdout, stderr } = charts.helm('template', 'sidegate', chart, '-n', 'team', ...args)
      if (code !== 0) throw new Error(stderr)
      return stdout
    },
    render: (chart, ...args) => objects(charts.text(chart, ...args)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
  for (const [chart, file, values] of IMAGES) {
    writeFileSync(join(folder, file), values)
    // As `helm dependency build` does, in a tenth of its time.
    cpSync(join(folder, 'sidegate-lib'), join(folder, chart, 'charts/sidegate-lib'), { recursive: true })
  }
  return charts
}

/** Parses a stream of YAML documents; skips empty ones. */
export const objects = (text: string): KubernetesObject[] =>
  parseAllDocuments(text, { version: '1.1' })
    .map((document) => {
      for (const error of document.errors) throw error
      return document.toJS() as KubernetesObject | null
    })
    .filter((object) => object !== null)

/** The first object of that kind and, if given, that name. @throws if there is none */
export function pick(all: readonly KubernetesObject[], kind: string, name?: string): KubernetesObject {
  const found = all.find((one) => one.kind === kind && (name === undefined || one.metadata.name === name))
  if (found === undefined) throw new Error(`no ${kind} ${name ?? ''} was rendered`)
  return found
}
