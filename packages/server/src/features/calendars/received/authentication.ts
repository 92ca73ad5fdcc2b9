import type { OutlineField } from '../../../kit/mime/outline.ts'

/* Authentication-Results (RFC 8601): what the receiving server found out about the author of a message. */

const NAME = 'authentication-results'
const RESULTS_MAX = 20
const VALUE_LENGTH_MAX = 4_096

/**
 * Whether the account's own server has refuted the author of a message. Its field comes first: a server puts its own before those
 * that a message brings. A field that a message brings in the name of that server can only lead to a refusal, unless the server
 * neither removes it (RFC 8601 section 5) nor checks the same itself.
 */
export function isRefuted(fields: readonly OutlineField[]): boolean {
  const all = fields
    .flatMap((field, at) => (field[0] === NAME ? [{ at, ...readResults(field[1]) }] : []))
    .slice(0, RESULTS_MAX)
  const own = all.filter(({ server }) => server === all[0]?.server)
  const fails = (...methods: string[]) =>
    own.some(({ verdicts }) =>
      verdicts.some(({ method, result }) => methods.includes(method) && result === 'fail'),
    )
  // Fields behind a later hop came with the message, or are of an earlier hop.
  const end = fields.findIndex(([name], at) => name === 'received' && at > (all[0]?.at ?? 0))
  const believed = own.filter(({ at }) => end === -1 || at < end)
  const passes = (method: string) =>
    believed
      .map(({ verdicts }) => verdicts.filter(verdict => verdict.method === method))
      .find(verdicts => verdicts.length > 0)
      ?.some(({ result }) => result === 'pass') ?? false
  // DMARC (RFC 7489) is about the author. SPF and DKIM count only if nothing else speaks for the message.
  if (fails('dmarc')) return true
  if (passes('dmarc')) return false
  return fails('spf', 'dkim') && !passes('spf') && !passes('dkim')
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
