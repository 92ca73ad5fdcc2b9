import { readFileSync } from 'node:fs'
import path from 'node:path'
import { readCertificates } from '../kit/authorities.ts'
import { parseRange } from '../kit/egress/address.ts'
import { parseEgressAllow } from '../kit/egress/allow-list.ts'
import { environmentKeyRing } from '../kit/key-ring.ts'
import { parseRedisUrl } from '../kit/redis-url.ts'
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

export function redisUrl(text: string): Secret {
  parseRedisUrl(text)
  return new Secret(text)
}

export function secretKey(text: string): Secret {
  environmentKeyRing(text)
  return new Secret(text)
}

/** The id of an OAuth app. */
export function clientId(text: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(text)) return text
  throw new Error(`must be a client id as the provider shows it, not ${JSON.stringify(text)}`)
}

export function clientSecret(text: string): Secret {
  if (/^[\x20-\x7e]{1,1024}$/.test(text)) return new Secret(text)
  throw new Error('must be a client secret as the provider shows it')
}

export function bucketName(text: string): string {
  if (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text)) return text
  throw new Error(
    `must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens, not ${JSON.stringify(text)}`,
  )
}

export function region(text: string): string {
  if (/^[A-Za-z0-9-]{1,64}$/.test(text)) return text
  throw new Error(`must be a region like eu-central-1, not ${JSON.stringify(text)}`)
}

/** Without the slashes around it. */
export function keyPrefix(text: string): string {
  const prefix = text.replace(/^\/+|\/+$/g, '')
  if (
    /^[\w.-]*(?:\/[\w.-]+){0,9}$/.test(prefix) &&
    prefix.length <= 200 &&
    !/(?:^|\/)\.\.?(?:\/|$)/.test(prefix)
  )
    return prefix
  throw new Error(
    `must be up to 200 letters, digits, dots, hyphens and underscores, with slashes between, not ${JSON.stringify(text)}`,
  )
}

/** The name of a thing in Google Cloud. */
export function cloudResource(kind: 'topics' | 'subscriptions') {
  const form = new RegExp(`^projects/[a-z0-9:.-]{1,100}/${kind}/[A-Za-z][\\w.~+%-]{2,254}$`)
  return (text: string): string => {
    if (form.test(text)) return text
    throw new Error(`must look like projects/my-project/${kind}/gmail, not ${JSON.stringify(text)}`)
  }
}

export function serviceAccount(text: string): string {
  if (/^[\w.+-]{1,200}@[A-Za-z0-9.-]{1,119}$/.test(text)) return text.toLowerCase()
  throw new Error(`must be the address of a service account, not ${JSON.stringify(text)}`)
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

/** The origin of a sandbox's control API. */
export function origin(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && (url.origin === text || `${url.origin}/` === text))
    return url.origin
  throw new Error(`must be an origin like http://127.0.0.1:8040, not ${JSON.stringify(text)}`)
}

/** The URL of an object store. The message does not show what was given, which may contain credentials. */
export function endpoint(text: string): string {
  try {
    return baseUrl(text)
  } catch {
    throw new Error('must be a URL like https://s3.example.com, without user, password or query')
  }
}

function list(text: string): string[] {
  return text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
}
