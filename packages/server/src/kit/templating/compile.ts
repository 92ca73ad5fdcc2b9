import Handlebars from 'handlebars'
import { checkSyntax } from './check-syntax.ts'
import type { Escape } from './escapes.ts'
import { BoundExceeded, type RenderMeter } from './meter.ts'
import { LEVELS_MAX } from './template.ts'

/* Handlebars with bounds. Only the thread that renders loads it. */

export interface Compiled {
  /** The heap that it takes, about. */
  bytes: number
  /** @throws BoundExceeded, and what Handlebars throws */
  render(variables: object, escape: Escape, meter: RenderMeter): string
}

const CACHED_MAX = 256
/** A quarter of a thread's heap. */
const CACHED_BYTES_MAX = 32 * 1024 * 1024
/** Measured, of a template that was rendered; and of its source. */
const NODE_BYTES = 384
const CHARACTER_BYTES = 8

/** The render that is under way: helpers and escaping take no arguments of ours. */
let current: { escape: Escape; meter: RenderMeter } | null = null

const environment = Handlebars.create()

// Values of the prototypes are never rendered; asking for them would be logged.
Handlebars.logger.log = () => undefined

// Compiled templates read it from here.
Handlebars.Utils.escapeExpression = (value: unknown) => {
  if (value === null || value === undefined || current === null) return ''
  const text = typeof value === 'string' ? value : `${value as string}`
  const escaped = current.escape(text)
  written += escaped.length
  current.meter.wrote(written)
  return escaped
}
let written = 0

for (const name of ['if', 'unless', 'each', 'with'] as const) {
  const helper = environment.helpers[name] as (this: unknown, value: unknown, options: BlockOptions) => string
  const isLoop = name === 'each'
  environment.registerHelper(name, function (this: unknown, value: unknown, options: BlockOptions) {
    return helper.call(this, value, {
      ...options,
      fn: metered(options.fn, isLoop),
      inverse: metered(options.inverse, false),
    })
  })
}

interface BlockOptions {
  fn: Body
  inverse: Body
}
type Body = (...given: unknown[]) => string

/** Counts the runs of a block's body, and what they write within the block. */
function metered(body: Body, isLoop: boolean): Body {
  let length = 0
  return (...given) => {
    if (isLoop) current?.meter.iterate()
    const output = body(...given)
    length += output.length
    current?.meter.wrote(length)
    return output
  }
}

/** Compiles templates and keeps those that were used last. */
export function openTemplates(): { compile(source: string): Compiled } {
  const cache = new Map<string, Compiled>()
  let cachedBytes = 0
  return {
    /** @throws SyntaxRefused, and what Handlebars throws */
    compile(source) {
      const cached = cache.get(source)
      const compiled = cached ?? compileTemplate(source)
      if (compiled.bytes > CACHED_BYTES_MAX) return compiled
      if (cached) cache.delete(source)
      else cachedBytes += compiled.bytes
      cache.set(source, compiled)
      for (const [oldest, { bytes }] of cache) {
        if (cache.size <= CACHED_MAX && cachedBytes <= CACHED_BYTES_MAX) break
        cache.delete(oldest)
        cachedBytes -= bytes
      }
      return compiled
    },
  }
}

function compileTemplate(source: string): Compiled {
  const sourceBytes = source.length * CHARACTER_BYTES
  if (!source.includes('{{')) return { bytes: sourceBytes, render: () => source }
  // Only strings are parsed: an object would be taken for a syntax tree, and become code.
  const program = Handlebars.parse(`${source}`)
  const { levels, nodes } = checkSyntax(program)
  const template = environment.compile(program, {
    knownHelpersOnly: true,
    // Names in a template are values unless `checkSyntax` knows them as helpers.
    knownHelpers: { helperMissing: false, blockHelperMissing: false, log: false } as KnownHelpers,
  })
  // Compiles now, not when it is first rendered.
  ;(template as unknown as { _setup(options: object): void })._setup({})
  return {
    bytes: sourceBytes + nodes * NODE_BYTES,
    render(variables, escape, meter) {
      if (levels > LEVELS_MAX) throw new BoundExceeded(`has more than ${LEVELS_MAX} levels`)
      current = { escape, meter }
      written = 0
      try {
        return template(variables)
      } finally {
        current = null
      }
    },
  }
}

/** A prototype that lacks everything but the text that Handlebars writes for an object. */
const PLAIN: object = Object.freeze(
  Object.assign(Object.create(null) as object, { toString: () => '[object Object]' }),
)

/** Variables from JSON, without the prototypes of JavaScript. */
export function readVariables(json: string): object {
  return JSON.parse(json, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? withoutPrototype(value) : value,
  ) as object
}

function withoutPrototype(value: object): object {
  const plain = Object.create(PLAIN) as Record<string, unknown>
  for (const [key, own] of Object.entries(value))
    Object.defineProperty(plain, key, { value: own, enumerable: true, writable: true, configurable: true })
  return plain
}
