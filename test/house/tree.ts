// Checks what one file alone does not show: base names unique within a folder of src/, unique exported
// types, no import circles.
// Type-only imports count. Linear in files, types and imports.

import { posix } from 'node:path'
import type { Breach, SourceFile } from './sources.ts'

export const findTreeBreaches = (files: readonly SourceFile[]): Breach[] => [
  ...findSameNames(files),
  ...findSameTypes(files),
  ...findCircles(files),
]

/** `routes/` names files after paths of the API, and `index.ts` has the name of its folder. */
const hasFreeName = (path: string): boolean =>
  path.includes('/routes/') || posix.basename(path) === 'index.ts'

/** Folder directly below src/, in which a base name is unique. */
const floorFolder = (path: string): string => path.split('/', 2)[1]!

function findSameNames(files: readonly SourceFile[]): Breach[] {
  const first = new Map<string, string>()
  const breaches: Breach[] = []
  for (const { path } of files) {
    const name = `${floorFolder(path)} ${posix.basename(path)}`
    const other = first.get(name)
    if (hasFreeName(path)) continue
    if (other === undefined) first.set(name, path)
    else {
      const message = `has the base name of ${other}; rename one of them`
      breaches.push({ rule: 'base name', path, line: 1, message })
    }
  }
  return breaches
}

function findSameTypes(files: readonly SourceFile[]): Breach[] {
  const first = new Map<string, string>()
  const breaches: Breach[] = []
  for (const { path, types } of files) {
    for (const { line, name } of types) {
      const other = first.get(name)
      if (other === undefined) first.set(name, `${path}:${line}`)
      else {
        const message = `exports a type ${name}, as ${other} does; rename one of them`
        breaches.push({ rule: 'type name', path, line, message })
      }
    }
  }
  return breaches
}

/** One breach for each group of files that import each other, with a shortest circle of the first. */
function findCircles(files: readonly SourceFile[]): Breach[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  return findGroups(byPath).map((group) => {
    const path = [...group].sort()[0]!
    const circle = findCircle(path, group, byPath)
    const line = byPath.get(path)!.imports.find(({ target }) => target === circle[1])?.line ?? 1
    const rest = group.size > circle.length - 1 ? ` (${group.size} files import each other)` : ''
    const message = `imports itself: ${circle.join(' → ')}${rest}; move what they share to a file of its own`
    return { rule: 'import circle', path, line, message }
  })
}

/** Tarjan's algorithm: the strongly connected groups with at least one import inside. */
function findGroups(files: ReadonlyMap<string, SourceFile>): Set<string>[] {
  const groups: Set<string>[] = []
  const order = new Map<string, number>()
  const stack: string[] = []
  const open = new Set<string>()
  /** @returns the lowest order number that the file reaches among the open files */
  const visit = (path: string): number => {
    const own = order.size
    let low = own
    order.set(path, own)
    stack.push(path)
    open.add(path)
    for (const { target } of files.get(path)!.imports) {
      if (target === undefined || !files.has(target)) continue
      if (!order.has(target)) low = Math.min(low, visit(target))
      else if (open.has(target)) low = Math.min(low, order.get(target)!)
    }
    if (low < own) return low
    const group = new Set(stack.splice(stack.lastIndexOf(path)))
    for (const member of group) open.delete(member)
    if (group.size > 1 || files.get(path)!.imports.some(({ target }) => target === path)) groups.push(group)
    return low
  }
  for (const path of files.keys()) if (!order.has(path)) visit(path)
  return groups
}

/** The shortest way from a file back to it inside its group; begins and ends with the file. */
function findCircle(
  start: string,
  group: ReadonlySet<string>,
  files: ReadonlyMap<string, SourceFile>,
): string[] {
  const importer = new Map<string, string>()
  const queue = [start]
  for (const path of queue) {
    for (const { target } of files.get(path)!.imports) {
      if (target === start) {
        const circle = [start]
        for (let at = path; at !== start; at = importer.get(at)!) circle.unshift(at)
        return [start, ...circle]
      }
      if (target === undefined || !group.has(target) || importer.has(target)) continue
      importer.set(target, path)
      queue.push(target)
    }
  }
  return [start]
}
