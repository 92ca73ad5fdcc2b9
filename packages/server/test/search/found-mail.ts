import type { SearchResult, SearchSource } from '@waxwing/contract/mail/search.ts'
import type { Answer } from '../caller.ts'
import {
  openProxiedAccount,
  type ProxiedAccount,
  type ProxiedAccountOptions,
} from '../sync/proxied-account.ts'

export const DAY_MS = 24 * 60 * 60_000

export interface SearchAnswer {
  items: SearchResult[]
  nextCursor: string | null
  source: SearchSource
}

export interface SearchedAccount extends ProxiedAccount {
  search(query: Record<string, string | number>): Promise<Answer<SearchAnswer & { code?: string }>>
  /** Moves the service's clock forward. */
  pass(seconds: number): void
}

/** A message with these words, received this many days ago, at a whole second. */
export function saying(words: string, daysAgo: number, fields: Record<string, string> = {}) {
  const receivedAt = new Date(Math.floor(Date.now() / 1000) * 1000 - daysAgo * DAY_MS)
  const head = Object.entries({
    From: 'Ada Lovelace <ada@a.test>',
    To: 'you@b.test',
    Subject: `${words} ${daysAgo}`,
    'Message-ID': `<${Buffer.from(words).toString('hex')}-${daysAgo}@a.test>`,
    'Content-Type': 'text/plain; charset=utf-8',
    ...fields,
  })
  const lines = head.map(([name, value]) => `${name}: ${value}`).join('\r\n')
  return { raw: `${lines}\r\n\r\nOf ${words}, as you asked.\r\n`, internalDate: receivedAt }
}

/** Opens an account whose index reaches back 30 days. */
export async function openSearchedAccount(options: ProxiedAccountOptions = {}): Promise<SearchedAccount> {
  let aheadMs = 0
  const account = await openProxiedAccount({
    settings: { syncWindowDays: 30, bodyStorage: 'none' },
    clock: { now: () => Date.now() + aheadMs },
    ...options,
  })
  const { app, accountId } = account
  return {
    ...account,
    search(query) {
      const given = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
      const path = `/v1/accounts/${accountId}/search/messages?${new URLSearchParams(given)}`
      return app.get(path)
    },
    pass: seconds => void (aheadMs += seconds * 1000),
  }
}

export const subjectsOf = (answer: Answer<SearchAnswer>) => answer.body.items.map(({ subject }) => subject)
