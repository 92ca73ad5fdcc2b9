import { Call, List, type Page } from './call.ts'
import { feedOf, type Feed } from './feed.ts'
import { OPERATIONS } from './operations.ts'
import type { AnyOptions, WaxwingOptions } from './options.ts'
import { parseOperation, toRequest } from './request.ts'
import { type Sender, send } from './send.ts'
import type { Operations } from './types.ts'
import { tied } from './waits.ts'

const TIMEOUT_MS = 60_000
const RETRIES = 3

/**
 * A client of one Waxwing service. Its methods are the operations of the interface, by section:
 *
 * ```ts
 * const waxwing = new Waxwing({ baseUrl: 'https://mail.example.com', key: 'wk_…' })
 * for await (const account of waxwing.accounts.list()) console.log(account.email)
 * ```
 */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging, typescript/no-extraneous-class -- the constructor makes the methods that the interface below declares
export class Waxwing {
  /** @throws TypeError if an option cannot be used */
  constructor(options: WaxwingOptions) {
    const baseUrl = readBaseUrl(options.baseUrl)
    const sender = senderOf(options)
    const methods = Object.fromEntries(
      Object.entries<string | Record<string, string>>(OPERATIONS).map(([section, lines]) => [
        section,
        typeof lines === 'string'
          ? methodOf(baseUrl, sender, lines)
          : Object.fromEntries(
              Object.entries(lines).map(([name, line]) => [name, methodOf(baseUrl, sender, line)]),
            ),
      ]),
    )
    Object.assign(this, methods)
    Object.assign(this.changes, feedOf(this.changes.list, { baseUrl, sender }))
  }
}

// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- the types of the methods are made from the document
export interface Waxwing extends Omit<Operations, 'changes'> {
  changes: Operations['changes'] & Feed
}

type Input = Record<string, unknown>

function methodOf(baseUrl: string, sender: Sender, line: string) {
  const operation = parseOperation(line)
  const begin = async (input: Input | undefined, options: AnyOptions = {}) =>
    send(sender, toRequest(baseUrl, operation, input), options)
  if (!operation.isList) {
    return (input?: Input, options?: AnyOptions) => {
      // It is sent now, whether or not anybody waits for it.
      const answer = begin(input, options)
      return new Call(() => answer)
    }
  }
  return (input: Input = {}, options: AnyOptions = {}) =>
    new List(
      async () => pageOf(await begin(input, options)),
      async (cursor, leaving) => {
        const tiedOptions = { ...options, signal: tied(options.signal, leaving) }
        return pageOf(await begin({ ...input, cursor }, tiedOptions)).body
      },
    )
}

/** The types of the interface say what its answers are; they are not checked, so that newer ones pass. */
function pageOf<A extends { body: unknown }>(answer: A): A & { body: Page } {
  return answer as A & { body: Page }
}

function readBaseUrl(given: string | URL): string {
  let url: URL
  try {
    url = new URL(given)
  } catch {
    throw new TypeError(`baseUrl must be an address such as https://mail.example.com, not ${String(given)}`)
  }
  if (!/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password)
    throw new TypeError(
      'baseUrl must begin with https:// or http://, and have no query, fragment or password',
    )
  return url.href.replace(/\/+$/, '')
}

function senderOf({
  key,
  headers = {},
  timeoutMs = TIMEOUT_MS,
  retries = RETRIES,
  ...options
}: WaxwingOptions): Sender {
  if (typeof key === 'string') requireKey(key)
  if (!(timeoutMs > 0)) throw new TypeError('timeoutMs must be more than 0')
  if (!(retries >= 0)) throw new TypeError('retries must be 0 or more')
  return {
    // Browsers refuse a `fetch` that is called as a method of something else.
    fetch: (...given) => (options.fetch ?? globalThis.fetch)(...given),
    headers,
    timeoutMs,
    retries,
    key: async () => (typeof key === 'function' ? requireKey(await key()) : key),
    hasNextKey: typeof key === 'function',
  }
}

/** An error of `Headers` would show the key. */
function requireKey(key: unknown): string {
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('key must be an API key or an account token, without spaces and line breaks')
  return key
}
