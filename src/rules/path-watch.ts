// Watches the directory entries that a path passes through: folders and links, each of which may be
// replaced, as git-sync and the kubelet do. Watches what linked files resolve to as well.

import { type FSWatcher, watch } from 'node:fs'
import { readlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'

/** Links that Linux follows in one path (path_resolution(7)). */
const MAXIMUM_LINKS = 40

/** Folders that are watched; with more, `failure` asks for a poll. */
const MAXIMUM_FOLDERS = 256

/** Errors of a folder that is gone; its own entry reports that. */
const GONE: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR'])

/** Names in a folder, with whether changes of content count. */
type EntryNames = Map<string, boolean>

/**
 * Reports that an entry of the path, or of the way to a linked file, was created, removed or
 * renamed, and that the content of a linked file changed.
 */
export class PathWatcher {
  readonly #path: string
  readonly #onChange: () => void
  #watchers: FSWatcher[] = []
  #failure: string | null = null

  constructor(path: string, onChange: () => void) {
    this.#path = resolve(path)
    this.#onChange = onChange
  }

  /** The code of the error for which some entry is not watched; null when all are. */
  get failure(): string | null {
    return this.#failure
  }

  /**
   * Watches the entries of this moment, in place of earlier ones. Call it after each report.
   * @param links linked files that are watched as well
   */
  async follow(links: readonly string[] = []): Promise<void> {
    const entries = new Map<string, EntryNames>()
    await addEntries(entries, this.#path, false)
    for (const link of links) await addEntries(entries, link, true)
    this.close()
    this.#failure = entries.size > MAXIMUM_FOLDERS ? 'too many folders' : null
    for (const [folder, names] of [...entries].slice(0, MAXIMUM_FOLDERS)) this.#watch(folder, names)
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.#watchers = []
  }

  /** Without inotify instances or watches, or without the right to read a folder. */
  #fail(error: NodeJS.ErrnoException): void {
    if (!GONE.has(error.code)) this.#failure ??= error.code ?? error.message
  }

  #watch(folder: string, names: EntryNames): void {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        const countsContent = name === null ? false : names.get(name)
        if (event === 'rename' ? name === null || names.has(name) : countsContent === true) this.#onChange()
      })
      watcher.on('error', (error) => {
        watcher.close()
        this.#fail(error)
      })
      this.#watchers.push(watcher)
    } catch (error) {
      this.#fail(error as Error)
    }
  }
}

/** Adds the entries that the system looks up to resolve a path, by folder. */
async function addEntries(
  entries: Map<string, EntryNames>,
  path: string,
  countsContent: boolean,
): Promise<void> {
  const rest = path.slice(parse(path).root.length).split(sep)
  let folder = parse(path).root
  for (let links = 0; rest.length > 0; ) {
    const name = rest.shift() ?? ''
    if (name === '' || name === '.') continue
    if (name === '..') {
      folder = dirname(folder)
      continue
    }
    const names = entries.get(folder) ?? new Map<string, boolean>()
    entries.set(folder, names)
    if (!names.has(name)) names.set(name, false)
    const target = await readlink(join(folder, name)).catch(() => null)
    if (target === null) {
      if (countsContent && rest.length === 0) names.set(name, true)
      folder = join(folder, name)
      continue
    }
    if (++links > MAXIMUM_LINKS) break
    if (isAbsolute(target)) folder = parse(target).root
    rest.unshift(...target.split(sep))
  }
}
