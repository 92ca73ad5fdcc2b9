import { badRequest } from '../errors.ts'
import { type Literal, type Token, tokensOf } from './filter-tokens.ts'

export type Value = string | number | boolean | null

/** Makes functions that read a property of an item, such as `from/emailAddress/address`. Times are in milliseconds since 1970. */
export interface FilterSubject<Item> {
  reader(path: readonly string[]): (item: Item) => Value
  /** Reads the members of a collection, for `any`. */
  lister(path: readonly string[]): (item: Item) => readonly unknown[]
  /** Kind of the values of a property; null if there is no such property. */
  kindOf(path: readonly string[]): 'text' | 'time' | 'number' | 'boolean' | 'collection' | null
}

export interface Filter<Item> {
  test(item: Item): boolean
  /** The properties that it names, in their order, without repetition. */
  readonly properties: readonly string[]
}

type Test<Item> = (item: Item) => boolean

const DEPTH_MAX = 50
const COMPARISONS = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'] as const
type Comparison = (typeof COMPARISONS)[number]

/** Parses a `$filter` (OData 4.01 part 2, section 5.1.1). Refuses any that Graph does not take. */
export function parseFilter<Item>(text: string, subject: FilterSubject<Item>): Filter<Item> {
  const parser = new Parser<Item>(tokensOf(text), subject)
  return { test: parser.parse(), properties: [...parser.properties] }
}

class Parser<Item> {
  readonly properties = new Set<string>()
  readonly #tokens: readonly Token[]
  readonly #subject: FilterSubject<Item>
  #at = 0
  #depth = 0

  constructor(tokens: readonly Token[], subject: FilterSubject<Item>) {
    this.#tokens = tokens
    this.#subject = subject
  }

  parse(): Test<Item> {
    const test = this.#or()
    if (this.#at < this.#tokens.length) throw invalid(`Syntax error at '${this.#tokens[this.#at]?.text}'`)
    return test
  }

  #or(): Test<Item> {
    let left = this.#and()
    while (this.#takesWord('or')) {
      const [one, other] = [left, this.#and()]
      left = item => one(item) || other(item)
    }
    return left
  }

  #and(): Test<Item> {
    let left = this.#not()
    while (this.#takesWord('and')) {
      const [one, other] = [left, this.#not()]
      left = item => one(item) && other(item)
    }
    return left
  }

  #not(): Test<Item> {
    if (++this.#depth > DEPTH_MAX) throw invalid('The node count limit has been exceeded')
    try {
      if (this.#takesWord('not')) {
        const inner = this.#not()
        return item => !inner(item)
      }
      if (this.#takes('(')) {
        const inner = this.#or()
        this.#require(')')
        return inner
      }
      return this.#predicate()
    } finally {
      this.#depth -= 1
    }
  }

  #predicate(): Test<Item> {
    const name = this.#word()
    if (this.#takes('(')) return this.#textFunction(name)
    const path = name.split('/')
    const last = path.at(-1)?.toLowerCase()
    if (last === 'any' || last === 'all') throw invalid(`Syntax error at '${name}'`)
    return this.#comparison(path)
  }

  #comparison(path: string[]): Test<Item> {
    const kind = this.#kindOf(path)
    const read = this.#subject.reader(path)
    if (this.#tokens[this.#at]?.kind !== 'word') {
      if (kind === 'boolean') return item => read(item) === true
      throw invalid('Syntax error: a comparison is expected')
    }
    const word = this.#tokens[this.#at]?.text ?? ''
    if (word === 'and' || word === 'or') return item => read(item) === true
    const operator = COMPARISONS.find(one => one === word)
    if (operator === undefined) throw invalid(`Syntax error at '${word}'`)
    this.#at += 1
    const value = this.#literal(kind)
    return item => compare(read(item), operator, value)
  }

  #textFunction(name: string): Test<Item> {
    const path = name.split('/')
    const called = path.pop()?.toLowerCase() ?? ''
    if (path.length > 0 && called === 'any') return this.#any(path)
    if (!['startswith', 'endswith', 'contains'].includes(called) || path.length > 0)
      throw invalid(`An unknown function with name '${called}' was found`)
    const of = this.#word().split('/')
    if (this.#kindOf(of) !== 'text') throw invalid(`No function signature for '${called}' matches`)
    this.#require(',')
    const wanted = String(this.#literal('text')).toLowerCase()
    this.#require(')')
    const read = this.#subject.reader(of)
    return item => {
      const text = String(read(item) ?? '').toLowerCase()
      if (called === 'contains') return text.includes(wanted)
      return called === 'startswith' ? text.startsWith(wanted) : text.endsWith(wanted)
    }
  }

  /** `collection/any(one: …)`, in which the test is about the members of the collection. */
  #any(path: string[]): Test<Item> {
    const kind = this.#kindOf(path)
    if (kind !== 'collection') throw invalid("'any' can be used with collections only")
    const variable = this.#word()
    this.#require(':')
    const member = new Parser<unknown>(this.#tokens, memberSubject(variable))
    member.#at = this.#at
    const test = member.#or()
    this.#at = member.#at
    this.#require(')')
    const list = this.#subject.lister(path)
    return item => list(item).some(one => test(one))
  }

  #kindOf(path: string[]) {
    const kind = this.#subject.kindOf(path)
    if (kind === null) throw invalid(`Could not find a property named '${path.join('/')}'`)
    this.properties.add(path.join('/').toLowerCase())
    return kind
  }

  #literal(kind: 'text' | 'time' | 'number' | 'boolean' | 'collection'): Literal {
    const token = this.#tokens[this.#at]
    this.#at += 1
    const value = token?.value
    if (value === undefined) throw invalid(`Syntax error at '${token?.text ?? 'the end'}'`)
    if (value !== null && token?.kind !== kind)
      throw invalid(
        `A binary operator with incompatible types was detected. Found operand types '${EDM[kind]}' and '${EDM[token?.kind ?? 'text'] ?? 'Edm.String'}'`,
      )
    return value
  }

  #word(): string {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'word') throw invalid(`Syntax error at '${token?.text ?? 'the end'}'`)
    this.#at += 1
    return token.text
  }

  #takesWord(word: string): boolean {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'word' || token.text.toLowerCase() !== word) return false
    this.#at += 1
    return true
  }

  #takes(sign: string): boolean {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'sign' || token.text !== sign) return false
    this.#at += 1
    return true
  }

  #require(sign: string): void {
    if (!this.#takes(sign)) throw invalid(`'${sign}' is expected`)
  }
}

const EDM: Readonly<Record<string, string>> = {
  text: 'Edm.String',
  time: 'Edm.DateTimeOffset',
  number: 'Edm.Int32',
  boolean: 'Edm.Boolean',
  collection: 'Collection(Edm.String)',
}

const invalid = (problem: string) => badRequest(`Invalid filter clause: ${problem}.`)

/** Texts are compared without regard to case, as Exchange does. A time or a number that is missing fits no order. */
function compare(given: Value, operator: Comparison, wanted: Literal): boolean {
  const [left, right] = [folded(given), folded(wanted)]
  if (operator === 'eq') return left === right
  if (operator === 'ne') return left !== right
  if (left === null || right === null) return false
  if (operator === 'gt') return left > right
  if (operator === 'ge') return left >= right
  return operator === 'lt' ? left < right : left <= right
}

const folded = (value: Value): Value => (typeof value === 'string' ? value.toLowerCase() : value)

/** Members of a collection: texts by the variable alone, objects by paths below it. */
const memberSubject = (variable: string): FilterSubject<unknown> => ({
  reader:
    ([, ...path]) =>
    member => {
      let value: unknown = member
      for (const step of path) value = propertyOf(value, step)
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? value
        : null
    },
  lister: () => () => [],
  kindOf: ([name]) => (name === variable ? 'text' : null),
})

function propertyOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const found = Object.entries(value).find(([key]) => key.toLowerCase() === name.toLowerCase())
  return found?.[1]
}
