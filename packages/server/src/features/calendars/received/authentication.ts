import type { OutlineField } from '../../../kit/mime/outline.ts'

/* Authentication-Results (RFC 8601): what the receiving server found out about the author of a message. */

const RESULTS_MAX = 20
const VALUE_LENGTH_MAX = 4_096

/**
 * Whether the account's own server has refuted the author of a message. Its field comes first: a server puts its own before those
 * that a message brings. Fields that were forged can only lead to a refusal.
 */
export function isRefuted(fields: readonly OutlineField[]): boolean {
  const results = fields
    .filter(([name]) => name === 'authentication-results')
    .slice(0, RESULTS_MAX)
    .map(([, value]) => readResults(value))
  const own = results
    .filter(({ server }) => server === results[0]?.server)
    .flatMap(({ verdicts }) => verdicts)
  const resultsOf = (...methods: string[]) =>
    new Set(own.flatMap(({ method, result }) => (methods.includes(method) ? [result] : [])))
  // DMARC (RFC 7489) is about the author. SPF and DKIM count only if nothing else speaks for the message.
  const author = resultsOf('dmarc')
  if (author.has('fail')) return true
  if (author.has('pass')) return false
  const others = resultsOf('spf', 'dkim')
  return others.has('fail') && !others.has('pass')
}

interface Results {
  server: string
  verdicts: Array<{ method: string; result: string }>
}

function readResults(value: string): Results {
  const [server = '', ...parts] = withoutComments(value.slice(0, VALUE_LENGTH_MAX)).toLowerCase().split(';')
  return {
    server: server.trim().split(/\s/)[0] ?? '',
    verdicts: parts.flatMap(part => {
      const [, method, result] = /^\s*([a-z][\w-]*)\s*(?:\/\s*\d+\s*)?=\s*([a-z]+)/.exec(part) ?? []
      return method !== undefined && result !== undefined ? [{ method, result }] : []
    }),
  }
}

/** Comments in parentheses may lie in each other. */
function withoutComments(text: string): string {
  let depth = 0
  let kept = ''
  for (const character of text) {
    if (character === '(') depth += 1
    else if (character === ')') depth = Math.max(0, depth - 1)
    else if (depth === 0) kept += character
  }
  return kept
}
