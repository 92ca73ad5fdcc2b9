import { readFileSync } from 'node:fs'
import path from 'node:path'
import { readCertificates } from '../kit/authorities.ts'
import { parseRange } from '../kit/egress/address.ts'
import { parseEgressAllow } from '../kit/egress/allow-list.ts'
import { environmentKeyRing } from '../kit/key-ring.ts'
import { Secret } from '../kit/secret.ts'

/**
 * Parsers for the text of one setting. Each throws an `Error` whose message continues "NAME …" and never contains a
 * secret.
 */

export function boolean(text: string): boolean {
  if (text === 'true') return true
  if (text === 'false') return false
  throw new Error(`must be true or false, not ${JSON.stringify(text)}`)
}

export function integer(min: number, max: number) {
  return (text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new Error(`must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
  }
}

export function oneOf<Word extends string>(words: readonly Word[]) {
  return (text: string): Word => {
    const word = words.find(candidate => candidate === text)
    if (word !== undefined) return word
    throw new Error(`must be one of ${words.join(', ')}, not ${JSON.stringify(text)}`)
  }
}

export function someOf<Word extends string>(words: readonly Word[]) {
  return (text: string): Word[] => {
    const chosen = new Set(list(text).map(oneOf(words)))
    if (chosen.size === 0) throw new Error(`must name at least one of ${words.join(', ')}`)
    return [...chosen]
  }
}

export function hostToListenOn(text: string): string {
  if (/^[A-Za-z0-9.:_-]+$/.test(text)) return text
  throw new Error(`must be an address or a host name of this machine, not ${JSON.stringify(text)}`)
}

/** Removes the trailing slash, so that a path can be appended. */
export function baseUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw new Error(`must be a URL like https://mail.example.com, not ${JSON.stringify(text)}`)
  }
  return url.href.replace(/\/+$/, '')
}

/** The certificates of a file, in PEM. */
export function certificateFile(text: string): string {
  try {
    return readCertificates(readFileSync(text, 'utf8')).join('\n')
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    throw new Error(
      `must name a file of certificates in PEM, and ${JSON.stringify(text)} is not one: ${reason}`,
      {
        cause: error,
      },
    )
  }
}

export function folder(text: string): string {
  return path.resolve(text)
}

export function databaseUrl(text: string): Secret {
  const protocol = URL.parse(text)?.protocol
  if (protocol === 'postgres:' || protocol === 'postgresql:') return new Secret(text)
  throw new Error('must be a URL like postgres://host:5432/database, with user:password@ before the host')
}

export function secretKey(text: string): Secret {
  environmentKeyRing(text)
  return new Secret(text)
}

export function egressAllow(text: string): string[] {
  const entries = list(text)
  parseEgressAllow(entries)
  return entries
}

export function proxies(text: string): string[] {
  const entries = list(text)
  const wrong = entries.find(entry => !parseRange(entry))
  if (wrong === undefined) return entries
  throw new Error(`must list addresses or CIDRs of proxies, and ${JSON.stringify(wrong)} is neither`)
}

export function origins(text: string): string[] {
  const entries = list(text)
  const wrong = entries.find(entry => URL.parse(entry)?.origin !== entry)
  if (wrong === undefined) return entries
  throw new Error(`must list origins like https://app.example.com, and ${JSON.stringify(wrong)} is not one`)
}

function list(text: string): string[] {
  return text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
}
