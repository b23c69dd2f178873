// Many words found in one pass over a text (Aho and Corasick, 1975). Words and text are normalised code points;
// knows nothing of rules or offsets.

import { ASCII_END } from './characters.ts'

/** Fewer children than this are looked at one by one. */
const MAX_SCANNED_CHILDREN = 8

/** Cells of all rows together, 4 bytes each: a row holds every transition of a state, and one without is searched. */
const MAX_ROW_CELLS = 1 << 20

const START = 0
const NO_ROW = -1
/** In place of a row: a word ends here. */
export const WORD_ENDS = -1

interface TrieNode {
  readonly children: Map<number, TrieNode>
  readonly depth: number
  /** Places in the list of words of those that end here. */
  readonly words: number[]
}

/** The automaton. States are numbers, level by level, so that a state's children are neighbours; 0 is the start. */
export class WordAutomaton {
  /** How many characters of a word each state has seen. */
  readonly #depth: Uint16Array
  /** For each state that of the longest proper suffix which is also the beginning of a word. */
  readonly #suffix: Int32Array
  /** The nearest state by suffixes, itself included, at which a word ends; 0 when there is none. */
  readonly #ending: Int32Array
  readonly #words: readonly (readonly number[])[]
  /** Class of each character that occurs in a word, ascending from 1; everything else is 0. */
  readonly #ascii = new Int32Array(ASCII_END)
  readonly #classes = new Map<number, number>()
  /** Children of a state are firstChild[state] to firstChild[state + 1], in the order of their classes. */
  readonly #firstChild: Int32Array
  readonly #childClass: Int32Array
  /** Where a state's row begins in `cells`, or NO_ROW. */
  readonly #row: Int32Array
  readonly #cells: Int32Array
  /** By row and class: the next row, or WORD_ENDS; null when there are too many words. A text begins with row 0. */
  readonly rows: Int32Array | null

  /** @param words non-empty, at most 65,535 characters each; their places in the list name them */
  constructor(words: readonly (readonly number[])[]) {
    const nodes = levelOrder(buildTrie(words))
    const characters = new Set(words.flat())
    for (const character of [...characters].sort((a, b) => a - b))
      this.#classes.set(character, this.#classes.size + 1)
    for (const [character, symbol] of this.#classes)
      if (character < ASCII_END) this.#ascii[character] = symbol
    this.#depth = Uint16Array.from(nodes, ({ depth }) => depth)
    this.#words = nodes.map((node) => node.words)
    this.#firstChild = new Int32Array(nodes.length + 1)
    this.#childClass = new Int32Array(nodes.length)
    let child = 1
    nodes.forEach(({ children }, state) => {
      this.#firstChild[state] = child
      for (const [character] of inOrder(children)) this.#childClass[child++] = this.#classes.get(character)!
    })
    this.#firstChild[nodes.length] = child
    this.#suffix = new Int32Array(nodes.length)
    this.#ending = new Int32Array(nodes.length)
    this.#row = new Int32Array(nodes.length).fill(NO_ROW)
    this.#cells = this.#allotRows()
    for (let state = 0; state < nodes.length; state++) this.#link(state)
    this.rows = this.#row.includes(NO_ROW)
      ? null
      : this.#cells.map((state) => (this.#ending[state] === 0 ? this.#row[state]! : WORD_ENDS))
  }

  /** Takes one character. Over a whole text at most two steps a character. */
  next(state: number, character: number): number {
    const symbol = this.classOf(character)
    return symbol === 0 ? START : this.#step(state, symbol)
  }

  /** The class of a character: 0 for one that occurs in no word, 1 and up for the others. */
  classOf(folded: number): number {
    return folded < ASCII_END ? this.#ascii[folded]! : (this.#classes.get(folded) ?? 0)
  }

  /** The nearest state by suffixes, itself included, at which a word ends; 0 when there is none. */
  ending(state: number): number {
    return this.#ending[state]!
  }

  /** The next such state after one that `ending` named. */
  shorterEnding(state: number): number {
    return this.#ending[this.#suffix[state]!]!
  }

  /** The words that end at a state, not counting its suffixes. */
  wordsAt(state: number): readonly number[] {
    return this.#words[state]!
  }

  /** Characters of the words that end at a state. */
  depth(state: number): number {
    return this.#depth[state]!
  }

  /** For every state, how many of the characters just read could still be the beginning of a chosen word. */
  pendingDepths(chosen: (word: number) => boolean): Uint16Array {
    const count = this.#depth.length
    const leads = new Uint8Array(count)
    for (let state = count - 1; state >= 0; state--) {
      for (let child = this.#firstChild[state]!; child < this.#firstChild[state + 1]!; child++) {
        if (leads[child] === 1 || this.#words[child]!.some(chosen)) leads[state] = 1
      }
    }
    const pending = new Uint16Array(count)
    for (let state = 1; state < count; state++) {
      pending[state] = leads[state] === 1 ? this.#depth[state]! : pending[this.#suffix[state]!]!
    }
    return pending
  }

  #step(from: number, symbol: number): number {
    for (let state = from; ; state = this.#suffix[state]!) {
      const row = this.#row[state]!
      if (row !== NO_ROW) return this.#cells[row + symbol]!
      const child = this.#child(state, symbol)
      if (child !== START) return child
    }
  }

  /** The child by that class; START, which is nobody's child, when there is none. */
  #child(state: number, symbol: number): number {
    let low = this.#firstChild[state]!
    let high = this.#firstChild[state + 1]!
    while (high - low > MAX_SCANNED_CHILDREN) {
      const middle = (low + high) >>> 1
      if (this.#childClass[middle]! <= symbol) low = middle
      else high = middle
    }
    for (; low < high; low++) if (this.#childClass[low] === symbol) return low
    return START
  }

  /** The start always has a row, which ends every search; others as far as the cells go, shallow ones first. */
  #allotRows(): Int32Array {
    const width = this.#classes.size + 1
    let used = width
    this.#row[START] = 0
    for (let state = 1; state < this.#row.length; state++) {
      if (used + width > MAX_ROW_CELLS) break
      this.#row[state] = used
      used += width
    }
    return new Int32Array(used)
  }

  /** Sets what a state and its children lead to. All states above it are complete. */
  #link(state: number): void {
    const suffix = this.#suffix[state]!
    if (state !== START) this.#ending[state] = this.#words[state]!.length > 0 ? state : this.#ending[suffix]!
    for (let child = this.#firstChild[state]!; child < this.#firstChild[state + 1]!; child++) {
      this.#suffix[child] = state === START ? START : this.#step(suffix, this.#childClass[child]!)
    }
    const row = this.#row[state]!
    if (row === NO_ROW) return
    for (let symbol = 1; symbol <= this.#classes.size; symbol++) {
      const child = this.#child(state, symbol)
      this.#cells[row + symbol] = child !== START || state === START ? child : this.#step(suffix, symbol)
    }
  }
}

function buildTrie(words: readonly (readonly number[])[]): TrieNode {
  const root: TrieNode = { children: new Map(), depth: 0, words: [] }
  words.forEach((word, index) => {
    let node = root
    for (const character of word) {
      let child = node.children.get(character)
      if (child === undefined) {
        child = { children: new Map(), depth: node.depth + 1, words: [] }
        node.children.set(character, child)
      }
      node = child
    }
    node.words.push(index)
  })
  return root
}

/** Children by ascending character, which is also the order of their classes. */
const inOrder = (children: TrieNode['children']): [number, TrieNode][] =>
  [...children].sort(([a], [b]) => a - b)

function levelOrder(root: TrieNode): TrieNode[] {
  const nodes = [root]
  for (const { children } of nodes) for (const [, child] of inOrder(children)) nodes.push(child)
  return nodes
}
