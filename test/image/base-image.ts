// Builds the image for a test without a registry: buildah in a storage of its own, and a base made
// of Debian's packages with the Node of this project and the npm of this machine.

import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { ROOT } from '../process/program.ts'

const SUITE = 'bookworm'
const BASE = 'localhost/sidegate-test-base'
export const IMAGE = 'localhost/sidegate-test'
/** Time of one command; the longest is the build. */
const MAXIMUM_COMMAND_MS = 900_000
const MAXIMUM_OUTPUT_BYTES = 16 * 1024 * 1024
/** How much of a failed command's output is shown. */
const SHOWN_CHARACTERS = 4000

/** What the image says of its containers (OCI image specification; the last is Docker's). */
export interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  readonly Volumes: Readonly<Record<string, object>>
  readonly Healthcheck: { readonly Test: readonly string[] }
}

/** @throws Error (rejects) with the end of what the command printed */
export const run = (command: string, ...args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const limits = { timeout: MAXIMUM_COMMAND_MS, maxBuffer: MAXIMUM_OUTPUT_BYTES }
    execFile(command, args, limits, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${command}: ${(stdout + stderr || error.message).slice(-SHOWN_CHARACTERS)}`))
    })
  })

/** Makes images in a folder, which the caller removes. */
export class Builder {
  readonly #folder: string

  /** @param folder empty, on a file system for programs */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Imports Debian's smallest system with Node and npm. @param mirror of Debian's packages */
  async makeBase(mirror: string): Promise<string> {
    const tree = join(this.#folder, 'base')
    await run('debootstrap', '--variant=minbase', SUITE, tree, mirror)
    // Packages that were installed, and their lists.
    await run('rm', '-rf', join(tree, 'var/cache/apt'), join(tree, 'var/lib/apt/lists'))
    cpSync(realpathSync(join(ROOT, 'node_modules/node/bin/node')), join(tree, 'usr/local/bin/node'))
    const modules = join(tree, 'usr/local/lib/node_modules')
    mkdirSync(modules, { recursive: true })
    cpSync(npmFolder(), join(modules, 'npm'), { recursive: true })
    for (const name of ['npm', 'npx'])
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(tree, 'usr/local/bin', name))
    const container = (await this.#buildah('from', 'scratch')).trim()
    await this.#buildah('copy', '--quiet', container, tree, '/')
    await this.#buildah('commit', '--quiet', '--rm', container, BASE)
    await run('rm', '-rf', tree)
    return BASE
  }

  /** Builds the Dockerfile, with the registry of npm and the certificates that this machine uses. */
  async build(base: string): Promise<void> {
    const options = ['--format', 'docker', '--isolation', 'chroot', '--tag', IMAGE]
    const args = {
      NODE_IMAGE: base,
      NPM_REGISTRY: execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim(),
      CA_CERTIFICATE: extraCertificates(),
    }
    const given = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`])
    await this.#buildah('build', ...options, ...given, ROOT)
  }

  async configOf(image: string): Promise<ImageConfig> {
    const text = await this.#buildah('inspect', '--type', 'image', image)
    return JSON.parse(text).Docker.config
  }

  /** Mounts the file system of an image. @returns its folder */
  async mount(image: string): Promise<string> {
    const container = (await this.#buildah('from', '--pull-never', image)).trim()
    return (await this.#buildah('mount', container)).trim()
  }

  #buildah(action: string, ...args: readonly string[]): Promise<string> {
    const storage = ['--root', join(this.#folder, 'storage'), '--runroot', join(this.#folder, 'run')]
    return run('buildah', ...storage, '--storage-driver', 'vfs', action, ...args)
  }
}

/** The npm that runs this script, or else the one on PATH. */
function npmFolder(): string {
  const script = process.env['npm_execpath'] ?? execFileSync('which', ['npm'], { encoding: 'utf8' }).trim()
  return dirname(dirname(realpathSync(script)))
}

/** Certificates that this machine's Node trusts besides its own. */
function extraCertificates(): string {
  const file = process.env['NODE_EXTRA_CA_CERTS']
  if (file === undefined) return ''
  const known = new Set(rootCertificates.map((text) => text.replace(/\s/g, '')))
  const all = readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
  return (all ?? []).filter((text) => !known.has(text.replace(/\s/g, ''))).join('\n')
}
