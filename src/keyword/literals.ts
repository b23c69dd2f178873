// Finds many literals in one pass over a text (Aho and Corasick, 1975). Literals and text are
// normalised code points. Knows nothing about patterns or offsets.

import { ASCII_END } from '../core/ascii.ts'

/** With fewer children, a state's children are scanned instead of searched. */
const MAXIMUM_SCANNED_CHILDREN = 8

/**
 * Maximum cells of all rows together, 4 bytes each. A row holds every transition of a state; states
 * without a row are searched.
 */
const MAXIMUM_ROW_CELLS = 1 << 20

const START = 0
const NO_ROW = -1
/** Takes the place of a row: a literal ends here. */
export const LITERAL_ENDS = -1

interface TrieNode {
  readonly children: Map<number, TrieNode>
  readonly depth: number
  /** Indices of the literals that end here. */
  readonly literals: number[]
}

/**
 * The automaton. States are numbered level by level, so that the children of a state are
 * neighbours. State 0 is the start.
 */
export class LiteralAutomaton {
  /** By state: the number of characters read of a literal. */
  readonly #depth: Uint16Array
  /** By state: the state of the longest proper suffix that begins a literal. */
  readonly #suffix: Int32Array
  /**
   * By state: the nearest state along the suffixes, itself included, at which a literal ends; 0 if
   * there is none.
   */
  readonly #ending: Int32Array
  readonly #literals: readonly (readonly number[])[]
  /**
   * Class of each character that occurs in a literal, from 1 in ascending order; 0 for all others.
   */
  readonly #ascii = new Int32Array(ASCII_END)
  readonly #classes = new Map<number, number>()
  /**
   * The children of a state are firstChild[state] up to firstChild[state + 1], ordered by class.
   */
  readonly #firstChild: Int32Array
  readonly #childClass: Int32Array
  /** By state: the start of its row in `cells`, or NO_ROW. */
  readonly #row: Int32Array
  readonly #cells: Int32Array
  /**
   * By row and class: the next row, or LITERAL_ENDS. Null if there are too many literals. A text
   * begins with row 0.
   */
  readonly rows: Int32Array | null

  /** @param literals non-empty, at most 65,535 characters each; named by their index */
  constructor(literals: readonly (readonly number[])[]) {
    const nodes = levelOrder(buildTrie(literals))
    const characters = new Set(literals.flat())
    for (const character of [...characters].sort((a, b) => a - b))
      this.#classes.set(character, this.#classes.size + 1)
    for (const [character, symbol] of this.#classes)
      if (character < ASCII_END) this.#ascii[character] = symbol
    this.#depth = Uint16Array.from(nodes, ({ depth }) => depth)
    this.#literals = nodes.map((node) => node.literals)
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
      : this.#cells.map((state) => (this.#ending[state] === 0 ? this.#row[state]! : LITERAL_ENDS))
  }

  /** Takes one character. Over a whole text it makes at most two transitions per character. */
  next(state: number, character: number): number {
    const symbol = this.classOf(character)
    return symbol === 0 ? START : this.#step(state, symbol)
  }

  /** Returns the class of a character, 0 if it occurs in no literal. */
  classOf(folded: number): number {
    return folded < ASCII_END ? this.#ascii[folded]! : (this.#classes.get(folded) ?? 0)
  }

  /**
   * Returns the nearest state along the suffixes, itself included, at which a literal ends; 0 if
   * there is none.
   */
  ending(state: number): number {
    return this.#ending[state]!
  }

  /** Returns the next such state after one that `ending` returned. */
  shorterEnding(state: number): number {
    return this.#ending[this.#suffix[state]!]!
  }

  /** Returns the indices of the literals that end at a state, without those of its suffixes. */
  literalsAt(state: number): readonly number[] {
    return this.#literals[state]!
  }

  /** Returns the length of the literals that end at a state. */
  depth(state: number): number {
    return this.#depth[state]!
  }

  /** Returns by state how many of the last characters may begin a chosen literal. */
  pendingDepths(chosen: (literal: number) => boolean): Uint16Array {
    const count = this.#depth.length
    const leads = new Uint8Array(count)
    for (let state = count - 1; state >= 0; state--) {
      for (let child = this.#firstChild[state]!; child < this.#firstChild[state + 1]!; child++) {
        if (leads[child] === 1 || this.#literals[child]!.some(chosen)) leads[state] = 1
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

  /** Returns the child by that class, or START, which is no state's child. */
  #child(state: number, symbol: number): number {
    let low = this.#firstChild[state]!
    let high = this.#firstChild[state + 1]!
    while (high - low > MAXIMUM_SCANNED_CHILDREN) {
      const middle = (low + high) >>> 1
      if (this.#childClass[middle]! <= symbol) low = middle
      else high = middle
    }
    for (; low < high; low++) if (this.#childClass[low] === symbol) return low
    return START
  }

  /**
   * The start always has a row, which ends every search. Others have one while cells are left,
   * shallow states first.
   */
  #allotRows(): Int32Array {
    const width = this.#classes.size + 1
    let used = width
    this.#row[START] = 0
    for (let state = 1; state < this.#row.length; state++) {
      if (used + width > MAXIMUM_ROW_CELLS) break
      this.#row[state] = used
      used += width
    }
    return new Int32Array(used)
  }

  /** Links a state to its suffix and its children. All states above it are linked already. */
  #link(state: number): void {
    const suffix = this.#suffix[state]!
    if (state !== START)
      this.#ending[state] = this.#literals[state]!.length > 0 ? state : this.#ending[suffix]!
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

function buildTrie(literals: readonly (readonly number[])[]): TrieNode {
  const root: TrieNode = { children: new Map(), depth: 0, literals: [] }
  literals.forEach((literal, index) => {
    let node = root
    for (const character of literal) {
      let child = node.children.get(character)
      if (child === undefined) {
        child = { children: new Map(), depth: node.depth + 1, literals: [] }
        node.children.set(character, child)
      }
      node = child
    }
    node.literals.push(index)
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
