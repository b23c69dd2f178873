// Runs a Pod like the kubelet, without a cluster: volumes of the manifest, containers in order,
// probes on the Pod's address, restarts, and a termination that ends the app before the sidecar.
// Mount paths become folders.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { KubernetesObject } from '../charts/helm.ts'
import { publish } from '../rules/fixture.ts'
import { fetchInTime, inTime, until } from './until.ts'

/**
 * Probes run this many times as often as in the manifest, so that tests do not wait for seconds.
 */
const PROBE_SPEED = 20

export interface PodOptions {
  /** The rendered spec of the Pod. */
  readonly spec: any
  /** Rendered objects; their ConfigMaps are mounted. */
  readonly objects: readonly KubernetesObject[]
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Has the volumes; a second start on it is the same Pod after a restart of the node. */
  readonly folder: string
  readonly podIp: string
  /** Command of each container in place of its image; the container's arguments follow it. */
  readonly entrypoints: Readonly<Record<string, readonly string[]>>
}

export interface Container {
  readonly name: string
  process: ChildProcess
  restarts: number
  /** Lines of standard output and standard error of all runs so far. */
  readonly output: string[]
  /** Exit code or signal of each run that has ended. */
  readonly exits: (number | string)[]
}

export interface Pod {
  readonly gateway: Container
  readonly app: Container
  /** Events in order: `sidegate started`, `sidegate ready`, … */
  readonly events: string[]
  /** Statuses of the readiness and liveness probes since the start; 0 without an answer. */
  readonly readiness: number[]
  /** Publishes new contents of a ConfigMap or Secret in one rename, like the kubelet. */
  sync(volume: string, files: Readonly<Record<string, string>>): void
  /** Resolves once the event has happened `count` times; rejects after the deadline. */
  happened(event: string, count?: number): Promise<void>
  /** Sends SIGTERM to the app, SIGKILL when `grace` resolves first, then SIGTERM to the sidecar. */
  terminate(grace?: Promise<unknown>): Promise<void>
}

/** What the containers of a Pod share. */
interface Run {
  readonly options: PodOptions
  /** Replaces the mount paths in a text by the folders. */
  readonly real: (text: string) => string
  readonly events: string[]
  terminating: boolean
}

/** Starts the sidecar, waits for its startup probe, then starts the app. */
export async function startPod(options: PodOptions): Promise<Pod> {
  const { spec, podIp } = options
  const { real, sync } = mountVolumes(options)
  const run: Run = { options, real, events: [], terminating: false }
  const [sidecar] = spec.initContainers
  const gateway = startContainer(sidecar, run)
  await startupOf(sidecar, gateway, run)
  run.events.push('sidegate ready')
  const app = startContainer(spec.containers[0], run)
  const readiness: number[] = []
  const watching = (async () => {
    while (!run.terminating) {
      readiness.push(
        await probe(sidecar, 'readinessProbe', podIp),
        await probe(sidecar, 'livenessProbe', podIp),
      )
      await period(sidecar, 'readinessProbe')
    }
  })()

  const hasEnded = ({ process }: Container) => process.exitCode !== null || process.signalCode !== null
  const ended = (container: Container) => until(`${container.name} ends`, () => hasEnded(container))
  return {
    gateway,
    app,
    events: run.events,
    readiness,
    sync,
    happened: (event, count = 1) =>
      until(event, () => run.events.filter((one) => one === event).length >= count),
    async terminate(grace = new Promise(() => {})) {
      run.terminating = true
      app.process.kill('SIGTERM')
      await Promise.race([ended(app), grace])
      app.process.kill('SIGKILL')
      await ended(app)
      gateway.process.kill('SIGTERM')
      await ended(gateway)
      await inTime('the probes end', watching)
    },
  }
}

/** Makes a folder for each volume of the Pod and fills it. */
function mountVolumes(options: PodOptions): Pick<Run, 'real'> & Pick<Pod, 'sync'> {
  const { spec, folder } = options
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
  return { real, sync }
}

/** Runs a container, again after each end if its manifest says so. */
function startContainer(manifest: any, run: Run): Container {
  const { options, real, events } = run
  const container = { name: manifest.name, restarts: 0, output: [], exits: [] } as unknown as Container
  const start = () => {
    const [command = '', ...args] = options.entrypoints[manifest.name] ?? []
    const child = spawn(command, [...args, ...(manifest.args ?? []).map(real)], {
      env: environmentOf(manifest, options),
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    child.stdin.on('error', () => {})
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => container.output.push(line))
    }
    child.once('exit', (code, signal) => {
      container.exits.push(code ?? signal ?? 'unknown')
      events.push(`${manifest.name} ended`)
      if (run.terminating || manifest.restartPolicy !== 'Always') return
      container.restarts++
      start()
    })
    container.process = child
    events.push(`${manifest.name} started`)
  }
  start()
  return container
}

/** Resolves once the startup probe succeeds. Kills the container and throws if it does not in time. */
async function startupOf(manifest: any, container: Container, run: Run): Promise<void> {
  // The deadline is not shortened: a slow machine must not fail the test.
  const deadlineMs = Date.now() + manifest.startupProbe.failureThreshold * 1000
  while ((await probe(manifest, 'startupProbe', run.options.podIp)) !== 200) {
    if (container.restarts > 2 || Date.now() > deadlineMs) {
      run.terminating = true
      container.process.kill('SIGKILL')
      throw new Error(`the gateway did not start: ${container.output.join('\n')}`)
    }
    await period(manifest, 'startupProbe')
  }
}

/** @returns the status; 0 without an answer */
async function probe(manifest: any, kind: string, podIp: string): Promise<number> {
  const { port: name, path } = manifest[kind].httpGet
  const { containerPort } = manifest.ports.find((port: any) => port.name === name)
  try {
    const response = await fetchInTime(`http://${podIp}:${containerPort}${path}`)
    await response.arrayBuffer()
    return response.status
  } catch {
    return 0
  }
}

const period = (manifest: any, kind: string) => delay((manifest[kind].periodSeconds * 1000) / PROBE_SPEED)

/** Files of a volume by name; null for a volume that only the Pod writes. */
function filesOf(source: any, { objects, secrets }: PodOptions): Record<string, string> | null {
  if (source.configMap !== undefined) {
    const found = objects.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === source.configMap.name,
    )
    if (found !== undefined) return found['data']
    if (source.configMap.optional === true) return {}
    throw new Error(`no ConfigMap ${source.configMap.name}`)
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

/** A UID like those that the API server assigns. */
export const POD_UID = '7f9c2ba4-e88f-427d-a616-5afd2a0f0d9c'

/** Environment of a container: the variables of the manifest and no others. */
function environmentOf(manifest: any, { secrets }: PodOptions): Record<string, string> {
  const read = ({ fieldRef, secretKeyRef }: any) => {
    if (secretKeyRef !== undefined) return secrets[secretKeyRef.name]?.[secretKeyRef.key]
    if (fieldRef.fieldPath === 'metadata.uid') return POD_UID
    throw new Error(`the field ${fieldRef.fieldPath} is not supported`)
  }
  const entries = (manifest.env ?? []).map(({ name, value, valueFrom }: any) => [
    name,
    value ?? read(valueFrom),
  ])
  return Object.fromEntries(entries)
}
