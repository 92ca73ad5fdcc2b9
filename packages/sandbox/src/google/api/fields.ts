import { invalidParameter } from './refusal.ts'
import type { Shape } from './shape.ts'

/** Fields that a `fields` parameter keeps: true for everything below, or the names to keep. */
type Mask = true | Map<string, Mask>

const DEPTH_MAX = 30

/** Keeps of an answer what a `fields` parameter names. A name that the answer cannot have is refused. */
export function selectFields(answer: unknown, fields: string, shape: Shape): unknown {
  const reader = { text: fields.replaceAll(/\s/g, ''), at: 0 }
  const mask = listOf(reader, shape, 0)
  if (reader.at < reader.text.length) throw refusedAt(reader.text)
  return keep(answer, mask)
}

interface Reader {
  text: string
  at: number
}

const refusedAt = (name: string): Error => invalidParameter('fields', `Invalid field selection ${name}`)

function listOf(reader: Reader, shape: Shape, depth: number): Mask {
  if (depth > DEPTH_MAX) throw refusedAt(reader.text)
  const mask = new Map<string, Mask>()
  let everything = false
  for (;;) {
    const [name, below] = itemOf(reader, shape, depth)
    if (name === '*') everything = true
    else mask.set(name, joined(mask.get(name), below))
    if (reader.text[reader.at] !== ',') break
    reader.at += 1
  }
  return everything ? true : mask
}

function itemOf(reader: Reader, shape: Shape, depth: number): [string, Mask] {
  const [name = ''] = /^(?:\*|[A-Za-z]+)/.exec(reader.text.slice(reader.at)) ?? []
  reader.at += name.length
  if (name === '*') return ['*', true]
  const found = Object.hasOwn(shape, name) ? shape[name] : undefined
  if (found === undefined) throw refusedAt(name || reader.text)
  const next = reader.text[reader.at]
  if (next !== '/' && next !== '(') return [name, true]
  if (found === true) throw refusedAt(name)
  reader.at += 1
  if (next === '/') {
    const [child, below] = itemOf(reader, found, depth + 1)
    return [name, child === '*' ? true : new Map([[child, below]])]
  }
  const mask = listOf(reader, found, depth + 1)
  if (reader.text[reader.at++] !== ')') throw refusedAt(reader.text)
  return [name, mask]
}

function joined(first: Mask | undefined, second: Mask): Mask {
  if (first === undefined) return second
  if (first === true || second === true) return true
  const both = new Map(first)
  for (const [name, mask] of second) both.set(name, joined(both.get(name), mask))
  return both
}

function keep(value: unknown, mask: Mask): unknown {
  if (mask === true || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => keep(item, mask))
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => {
      const below = mask.get(name)
      return below === undefined ? [] : [[name, keep(item, below)]]
    }),
  )
}
