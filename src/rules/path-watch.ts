// Watches the directory entries that a path passes through: folders and links, each of which may be
// replaced, as git-sync and the kubelet do.

import { type FSWatcher, watch } from 'node:fs'
import { readlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'

/** Links that Linux follows in one path (path_resolution(7)). */
const MAX_LINKS = 40

/** Reports that an entry of the path was created, removed or renamed, not that content changed. */
export class PathWatcher {
  readonly #path: string
  readonly #onChange: () => void
  #watchers: FSWatcher[] = []

  constructor(path: string, onChange: () => void) {
    this.#path = resolve(path)
    this.#onChange = onChange
  }

  /** Watches the entries of this moment, in place of earlier ones. Call it after each report. */
  async follow(): Promise<void> {
    const entries = await entriesOf(this.#path)
    this.close()
    for (const [folder, names] of entries) this.#watch(folder, names)
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.#watchers = []
  }

  #watch(folder: string, names: ReadonlySet<string>): void {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        if (event === 'rename' && (name === null || names.has(name))) this.#onChange()
      })
      // The folder may be gone by now; its own entry reports that.
      watcher.on('error', () => watcher.close())
      this.#watchers.push(watcher)
    } catch {
      // A missing folder, or no inotify watch is left. The caller polls as well.
    }
  }
}

/** Returns the entries that the system looks up to resolve a path, by folder. */
async function entriesOf(path: string): Promise<Map<string, Set<string>>> {
  const entries = new Map<string, Set<string>>()
  const rest = path.slice(parse(path).root.length).split(sep)
  let folder = parse(path).root
  for (let links = 0; rest.length > 0; ) {
    const name = rest.shift() ?? ''
    if (name === '' || name === '.') continue
    if (name === '..') {
      folder = dirname(folder)
      continue
    }
    entries.set(folder, (entries.get(folder) ?? new Set()).add(name))
    const target = await readlink(join(folder, name)).catch(() => null)
    if (target === null) {
      folder = join(folder, name)
      continue
    }
    if (++links > MAX_LINKS) break
    if (isAbsolute(target)) folder = parse(target).root
    rest.unshift(...target.split(sep))
  }
  return entries
}
