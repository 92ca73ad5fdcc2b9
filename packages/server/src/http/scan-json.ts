import { BODY_VALUES_MAX } from '@waxwing/contract/operation.ts'
import type { Issue } from '@waxwing/contract/reasons.ts'

/** Maximum nesting of lists and objects. No body of the interface nests this deep. */
export const BODY_DEPTH_MAX = 32

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
/** With this bit set, `[` becomes `{` and `]` becomes `}`. */
const BRACE_BIT = 0x20
const OPEN = 0x7b
const CLOSE = 0x7d

/** Counts the values and levels of a JSON text while its bytes arrive. */
export interface JsonScan {
  add(bytes: Uint8Array): void
  /** Why the text must not be parsed, or null. Does not check whether it is valid JSON. */
  issue(): Issue | null
}

/**
 * Creates a scan with the same cost for each byte, whatever the text. It runs before `JSON.parse`, so that only texts
 * with a limited number of values are parsed, searched and validated.
 */
export function scanJson(valuesMax: number = BODY_VALUES_MAX): JsonScan {
  let values = 1
  let depth = 0
  let deepest = 0
  let isInText = false
  let isEscaped = false

  /** Returns the end of the string that contains `from`: behind its quote, or at the end of the bytes. */
  function endOfText(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at]
      if (isEscaped) isEscaped = false
      else if (byte === BACKSLASH) isEscaped = true
      else if (byte === QUOTE) {
        isInText = false
        return at + 1
      }
    }
    return bytes.length
  }

  function add(bytes: Uint8Array) {
    let at = 0
    while (at < bytes.length) {
      if (isInText) {
        at = endOfText(bytes, at)
        continue
      }
      const byte = bytes[at] ?? 0
      at += 1
      if (byte === QUOTE) isInText = true
      else if (byte === COMMA) values += 1
      else if ((byte | BRACE_BIT) === OPEN) {
        values += 1
        depth += 1
        if (depth > deepest) deepest = depth
      } else if ((byte | BRACE_BIT) === CLOSE) depth -= 1
    }
  }

  return {
    add,
    issue() {
      if (deepest > BODY_DEPTH_MAX) return wholeBody(`is nested deeper than ${BODY_DEPTH_MAX} levels`)
      if (values > valuesMax) return wholeBody(`has more than ${valuesMax} values`)
      return null
    },
  }
}

function wholeBody(message: string): Issue {
  return { path: [], message: `The body ${message}.` }
}
