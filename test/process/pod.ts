// A Pod as the kubelet runs it, without a cluster: volumes from the manifest, containers in their order, probes on the
// Pod's address, restarts, and an end in which the app goes before the sidecar. Paths of mounts become folders.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { KubernetesObject } from '../charts/helm.ts'
import { publish } from '../rules/fixture.ts'

/** Probes are asked this much more often than the manifest says: tests need not wait for seconds to go by. */
const PROBE_SPEED = 20

export interface PodOptions {
  /** The Pod's spec, as rendered. */
  readonly spec: any
  /** ConfigMaps among them are mounted. */
  readonly objects: readonly KubernetesObject[]
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Holds the volumes; given again it is the same Pod after a restart of the node. */
  readonly folder: string
  readonly podIp: string
  /** What stands for each container's image: the command that its arguments are added to. */
  readonly entrypoints: Readonly<Record<string, readonly string[]>>
}

export interface Container {
  readonly name: string
  process: ChildProcess
  restarts: number
  /** Lines of standard output, and error output, of every life so far. */
  readonly output: string[]
  /** Exit codes, or signals' names, of ended lives. */
  readonly exits: (number | string)[]
}

export interface Pod {
  readonly gateway: Container
  readonly app: Container
  /** What happened, in order: `gateway started`, `gateway ready`, … */
  readonly events: string[]
  /** Answers of readiness probes since the start. */
  readonly readiness: number[]
  /** As the kubelet's sync: new contents of a ConfigMap or Secret in one rename. */
  sync(volume: string, files: Readonly<Record<string, string>>): void
  /** Resolves when an event has been seen `count` times. */
  happened(event: string, count?: number): Promise<void>
  /** SIGTERM to the app, to the sidecar once it has gone; the app is killed where `patience` resolves first. */
  terminate(patience?: Promise<unknown>): Promise<void>
}

/** Starts the sidecar, waits for its startup probe, then starts the app. */
export async function startPod(options: PodOptions): Promise<Pod> {
  const { spec, folder, podIp } = options
  const mounts = new Map<string, string>(
    spec.initContainers[0].volumeMounts.map(({ name, mountPath }: any) => [name, mountPath]),
  )
  const real = (text: string) =>
    [...mounts.values()].reduce((path, mount) => path.replaceAll(mount, join(folder, mount)), text)
  const volume = (name: string) => real(mounts.get(name) ?? join('/unmounted', name))
  let syncs = 0
  const sync = (name: string, files: Readonly<Record<string, string>>) => {
    mkdirSync(volume(name), { recursive: true })
    const contents = Object.entries(files).map(([file, text]) => [file, real(text)] as const)
    publish(volume(name), `2026_${process.pid}_${Date.now()}_${syncs++}`, Object.fromEntries(contents))
  }
  for (const source of spec.volumes) {
    const files = filesOf(source, options)
    if (files === null) mkdirSync(volume(source.name), { recursive: true })
    else sync(source.name, files)
  }

  const events: string[] = []
  const waiting = new Set<() => void>()
  const note = (event: string) => {
    events.push(event)
    for (const look of waiting) look()
  }
  let terminating = false

  const start = (manifest: any): Container => {
    const container = { name: manifest.name, restarts: 0, output: [], exits: [] } as unknown as Container
    const live = () => {
      const [command = '', ...args] = options.entrypoints[manifest.name] ?? []
      const child = spawn(command, [...args, ...(manifest.args ?? []).map(real)], {
        env: environmentOf(manifest, options),
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      child.stdin.on('error', () => {})
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          container.output.push(line)
          for (const look of waiting) look()
        })
      }
      child.once('exit', (code, signal) => {
        container.exits.push(code ?? signal ?? 'unknown')
        note(`${manifest.name} ended`)
        if (terminating || manifest.restartPolicy !== 'Always') return
        container.restarts++
        live()
      })
      container.process = child
      note(`${manifest.name} started`)
    }
    live()
    return container
  }

  const probe = async (manifest: any, kind: string): Promise<number> => {
    const { port: name, path } = manifest[kind].httpGet
    const { containerPort } = manifest.ports.find((port: any) => port.name === name)
    try {
      const response = await fetch(`http://${podIp}:${containerPort}${path}`)
      await response.arrayBuffer()
      return response.status
    } catch {
      return 0
    }
  }
  const period = (manifest: any, kind: string) =>
    new Promise((resolve) => setTimeout(resolve, (manifest[kind].periodSeconds * 1000) / PROBE_SPEED))

  const [sidecar] = spec.initContainers
  const gateway = start(sidecar)
  // In the manifest's own seconds: what is tested is that it gets there, not how fast this machine is.
  const deadlineMs = Date.now() + sidecar.startupProbe.failureThreshold * 1000
  while ((await probe(sidecar, 'startupProbe')) !== 200) {
    if (gateway.restarts > 2 || Date.now() > deadlineMs) {
      terminating = true
      gateway.process.kill('SIGKILL')
      throw new Error(`the gateway did not start: ${gateway.output.join('\n')}`)
    }
    await period(sidecar, 'startupProbe')
  }
  note('sidegate ready')
  const app = start(spec.containers[0])
  const readiness: number[] = []
  const watching = (async () => {
    while (!terminating) {
      readiness.push(await probe(sidecar, 'readinessProbe'), await probe(sidecar, 'livenessProbe'))
      await period(sidecar, 'readinessProbe')
    }
  })()

  const seen = (event: string) => events.filter((one) => one === event).length
  const ended = (container: Container) =>
    container.process.exitCode === null && container.process.signalCode === null
      ? new Promise<void>((resolve) => container.process.once('exit', () => resolve()))
      : Promise.resolve()
  return {
    gateway,
    app,
    events,
    readiness,
    sync,
    happened: (event, count = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (seen(event) < count) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    async terminate(patience = new Promise(() => {})) {
      terminating = true
      app.process.kill('SIGTERM')
      await Promise.race([ended(app), patience])
      app.process.kill('SIGKILL')
      await ended(app)
      gateway.process.kill('SIGTERM')
      await ended(gateway)
      await watching
    },
  }
}

/** Files of a volume by name; null for one that is a folder of the Pod's own. */
function filesOf(source: any, { objects, secrets }: PodOptions): Record<string, string> | null {
  if (source.configMap !== undefined) {
    const found = objects.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === source.configMap.name,
    )
    if (found === undefined) throw new Error(`no ConfigMap ${source.configMap.name}`)
    return found['data']
  }
  if (source.projected === undefined) return null
  const files: Record<string, string> = {}
  for (const { secret } of source.projected.sources) {
    for (const { key, path } of secret.items) {
      const value = secrets[secret.name]?.[key]
      if (value !== undefined) files[path] = value
      else if (secret.optional !== true) throw new Error(`no key ${key} in Secret ${secret.name}`)
    }
  }
  return files
}

/** As the API server gives one to each Pod. */
export const POD_UID = '7f9c2ba4-e88f-427d-a616-5afd2a0f0d9c'

/** Nothing of this process's environment: what the manifest does not give is not there. */
function environmentOf(manifest: any, { secrets }: PodOptions): Record<string, string> {
  const read = ({ fieldRef, secretKeyRef }: any) => {
    if (secretKeyRef !== undefined) return secrets[secretKeyRef.name]?.[secretKeyRef.key]
    if (fieldRef.fieldPath === 'metadata.uid') return POD_UID
    throw new Error(`no ${fieldRef.fieldPath} here`)
  }
  const entries = (manifest.env ?? []).map(({ name, value, valueFrom }: any) => [
    name,
    value ?? read(valueFrom),
  ])
  return Object.fromEntries(entries)
}
