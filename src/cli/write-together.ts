// Writes several new files, all of them or none.

import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export interface NewFile {
  readonly path: string
  readonly text: string
}

/** Signals that would end the process between two files. */
const POSTPONED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Writes each file under a temporary name, syncs it, and then renames all. Replaces what has the
 * name of a file. A signal waits until it ends.
 * @param rename for tests
 * @throws Error that names the file; everything is then as before
 */
export function writeTogether(files: readonly NewFile[], rename = renameSync): void {
  const postpone = (): void => {}
  for (const signal of POSTPONED) process.on(signal, postpone)
  const undo: (() => void)[] = []
  const leftovers: string[] = []
  const suffix = `.sidegate-${randomBytes(6).toString('hex')}`
  const temporaryName = (path: string, kind: string) =>
    join(dirname(path), `.${basename(path)}${suffix}.${kind}`)
  let current = ''
  try {
    for (const { path, text } of files) {
      current = path
      makeFolder(dirname(path), undo)
      const temporary = temporaryName(path, 'new')
      undo.push(() => rmSync(temporary, { force: true }))
      writeFileSync(temporary, text, { flag: 'wx', flush: true })
    }
    for (const { path } of files) {
      current = path
      if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
        const kept = temporaryName(path, 'old')
        rename(path, kept)
        undo.push(() => renameSync(kept, path))
        leftovers.push(kept)
      }
      rename(temporaryName(path, 'new'), path)
      undo.push(() => rmSync(path))
    }
  } catch (error) {
    const { code = (error as Error).message } = error as NodeJS.ErrnoException
    const state = undoAll(undo) ? 'nothing was changed' : `files named *${suffix}.* are left next to it`
    // Without a cause, which the user of a command would read too.
    throw new Error(`${current} cannot be written (${code}); ${state}`)
  } finally {
    for (const signal of POSTPONED) process.off(signal, postpone)
  }
  for (const kept of leftovers) rmSync(kept)
}

/** Takes the steps, last first. Returns whether all succeeded. */
function undoAll(steps: (() => void)[]): boolean {
  let isDone = true
  for (const step of steps.reverse()) {
    try {
      step()
    } catch {
      isDone = false
    }
  }
  return isDone
}

/**
 * Makes a folder and those above it that are missing. Node's own never returns on a file system
 * that rejects folders, such as /proc.
 */
function makeFolder(path: string, undo: (() => void)[]): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return
  makeFolder(dirname(path), undo)
  mkdirSync(path)
  undo.push(() => rmdirSync(path))
}
