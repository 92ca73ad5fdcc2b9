import {
  type MessageOutline,
  type OutlineField,
  readEnclosedFields,
  readFields,
} from '../../../kit/mime/outline.ts'
import { isUuid } from '../../../kit/ids.ts'
import { readIds } from '../../../kit/mime/message-ids.ts'
import { COPY_BEGINS, DIALECTS, STILL_TRYING } from './dialects.ts'

/** A recipient that the message did not reach according to a report. */
export interface FailedRecipient {
  /** Every spelling that the report has: as it was sent to, and as it was forwarded. Empty if it has no address. */
  addresses: string[]
  /** Servers that refused it or reported so. */
  hosts: string[]
  /** As the report names it; null if it names none. */
  status: string | null
  diagnostic: string
  /** Whether the diagnostic belongs to this recipient. Otherwise it is the text of the whole report. */
  isOwn: boolean
}

/** The messages that an answer names. */
export interface NamedSends {
  /** With angle brackets, the surest first. */
  messageIds: string[]
  /** Ids of entries of the outbox. */
  outboxIds: string[]
}

export interface Report extends NamedSends {
  /** Empty if the report is about something else, such as a delay. */
  failed: FailedRecipient[]
}

/** Over all parts of a report. */
const GROUPS_MAX = 1_000
const ADDRESSES_MAX = 1_000
const ADDRESS_LENGTH_MAX = 320
const DIAGNOSTIC_LENGTH_MAX = 500
/** The beginning of a report has everything that matters. */
const PROSE_LENGTH_MAX = 16 * 1024
const REASON_LENGTH_MAX = 600
const NAMED_MAX = 20

/** Reads a report of a message that was not delivered; null if it is none. Linear, and never throws. */
export function parseReport(outline: MessageOutline): Report | null {
  const statuses = outline.reports.filter(({ type }) => type === 'delivery-status')
  if (statuses.length > 0 && (outline.type === 'multipart/report' || isFromProgram(outline))) {
    const groups = readGroups(statuses.map(({ text }) => text))
    const hosts = [...reporterOf(outline), ...groups.flatMap(group => hostsOf(group, 'reporting-mta'))]
    const failed = groups.flatMap(group => readRecipient(group, hosts))
    return { failed: nameOriginals(failed, outline), ...namedSends(outline, groups) }
  }
  if (!isFromReporter(outline)) return null
  const failed = readProse(outline)
  return failed.length === 0 ? null : { failed, ...namedSends(outline, []) }
}

/** The messages that the parts, the text and the fields of an answer name. */
export function namedSends(
  { fields, reports, text }: MessageOutline,
  groups: readonly (readonly OutlineField[])[],
): NamedSends {
  const enclosed = reports.flatMap(report =>
    report.type === 'message' ? readEnclosedFields(report.text) : [],
  )
  const copied = [...text.matchAll(/^[ \t>]*(Message-I[dD]|X-Waxwing-Outbox):[ \t]*(\S{1,998})/gm)].map(
    ([, name, value]) => [name!.toLowerCase(), value!] as const,
  )
  const envelopes = groups.flatMap(group => group.filter(([name]) => name === 'original-envelope-id'))
  const told = [...enclosed, ...copied]
  const own = [...valuesOf(fields, 'in-reply-to'), ...valuesOf(fields, 'references').toReversed()]
  const ids = [...valuesOf(told, 'message-id'), ...own].flatMap(value => readIds(value))
  const entries = [...valuesOf(told, 'x-waxwing-outbox'), ...envelopes.map(([, value]) => value)]
  return {
    messageIds: [...new Set(ids)].slice(0, NAMED_MAX),
    outboxIds: [...new Set(entries.map(entry => entry.toLowerCase()).filter(isUuid))].slice(0, NAMED_MAX),
  }
}

function valuesOf(fields: readonly OutlineField[], wanted: string): string[] {
  return fields.flatMap(([name, value]) => (name === wanted ? [value] : []))
}

/** The groups of fields of parts message/delivery-status, which empty lines separate (RFC 3464 section 2.1). */
function readGroups(texts: readonly string[]): OutlineField[][] {
  const groups: string[] = []
  for (const text of texts) groups.push(...text.split(/\n[ \t]*\n/, GROUPS_MAX - groups.length))
  return groups.map(group => readFields(group.trim())).filter(group => group.length > 0)
}

/** The servers that a field of a group names (RFC 3464 section 2.1.2). */
function hostsOf(group: readonly OutlineField[], name: string): string[] {
  return valuesOf(group, name).flatMap(value => /([\p{L}\p{N}_-]+\.)+[\p{L}\p{N}_-]+/u.exec(value)?.[0] ?? [])
}

/** The server that the report is from. */
function reporterOf({ fields }: MessageOutline): string[] {
  return valuesOf(fields, 'from').flatMap(from => /@([^\s<>@]+\.[^\s<>@]+)/.exec(from)?.[1] ?? [])
}

/** The recipient of a group; nothing if it did not fail, or the group is about the whole message. */
function readRecipient(group: readonly OutlineField[], hosts: readonly string[]): FailedRecipient[] {
  const find = (wanted: string) => valuesOf(group, wanted)[0] ?? null
  const addresses = ['original-recipient', 'final-recipient', 'x-actual-recipient', 'x-original-recipient']
    .flatMap(name => valuesOf(group, name))
    .flatMap(readTypedAddress)
  const status = find('status')
  const said = find('action')
  const action = said === null ? null : /^[a-z]*/.exec(said.toLowerCase())?.[0]
  // RFC 3464 section 2.3.3 requires an action. If it is missing, the class of the status counts.
  const isFailed = action === null ? /^\s*5/.test(status ?? '') : action === 'failed'
  if (!isFailed) return []
  const diagnostic = find('diagnostic-code') ?? find('x-notes') ?? find('x-display-name') ?? ''
  return [
    {
      addresses: [...new Set(addresses)],
      hosts: [...hosts, ...hostsOf(group, 'remote-mta')],
      status,
      diagnostic: showDiagnostic(diagnostic),
      isOwn: true,
    },
  ]
}

/** Exim, for the result of a rewritten address, such as a pipe: the original is only in a field and in the text. */
const GENERATED = /\bgenerated (?:by|from) ([^\s<>()]{1,320})/g

/** Gives recipients without an address, such as `|/usr/bin/vacation`, the addresses that the report names elsewhere. */
function nameOriginals(failed: readonly FailedRecipient[], outline: MessageOutline): FailedRecipient[] {
  const nameless = failed.filter(({ addresses }) => addresses.length === 0)
  if (nameless.length === 0) return [...failed]
  const named = failed.filter(({ addresses }) => addresses.length > 0)
  const known = new Set(named.flatMap(({ addresses }) => addresses))
  const told = [...outline.text.slice(0, PROSE_LENGTH_MAX).matchAll(GENERATED)].map(([, address]) => address!)
  const originals = [...new Set([...failedRecipients(outline), ...told])].filter(
    address => isAddress(address) && !known.has(address),
  )
  if (originals.length === 0) return [...named, ...nameless]
  const areTheirs = originals.length === nameless.length
  const completed = originals.map((address, index) => ({
    ...(nameless[index] ?? nameless[0]!),
    addresses: [address],
    isOwn: areTheirs,
  }))
  return [...named, ...completed]
}

/** An address with its type (RFC 3464 section 2.1.2; xtext of RFC 3461 section 4, UTF-8 of RFC 6533 section 3). */
function readTypedAddress(value: string): string[] {
  const semicolon = value.indexOf(';')
  const typed = semicolon < 0 ? value : value.slice(semicolon + 1)
  const text = typed
    .replaceAll(/\\x\{([0-9a-f]{1,6})\}/gi, (_, hex: string) => codePoint(hex))
    .trim()
    .replace(/^<([^<>]*)>.*$/, '$1')
    .replace(/^"(.*)"$/, '$1')
  const decoded = text.replaceAll(/\+([0-9A-F]{2})/g, (_, hex: string) => codePoint(hex))
  return [...new Set([text, decoded])].filter(isAddress)
}

function codePoint(hex: string): string {
  const code = Number.parseInt(hex, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

function isAddress(text: string): boolean {
  return text.length <= ADDRESS_LENGTH_MAX && /^[^\s@<>]+@[^\s@<>]+$/.test(text)
}

function showDiagnostic(value: string): string {
  return value
    .replace(/^\s*(?:smtp|x-[\w.-]+|dns|unix)\s*;\s*/i, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, DIAGNOSTIC_LENGTH_MAX)
    .toWellFormed()
}

/** Whether a program wrote it (RFC 3834, RFC 5321 section 4.5.5). It may have written for a person. */
function isFromProgram(outline: MessageOutline): boolean {
  const find = (wanted: string) => valuesOf(outline.fields, wanted)[0] ?? ''
  return (
    /^\s*<\s*>/.test(find('return-path')) ||
    /^\s*auto-(?:replied|generated|notified)/i.test(find('auto-submitted')) ||
    isFromReporter(outline)
  )
}

const REPORTER =
  /mailer-?daemon|mail-?daemon|postmaster|mail delivery (?:sub)?system|maildelivery|microsoftexchange|double-?bounce|<@>/i

/**
 * Whether its author reports failures, so that its words are taken for a report: a mail system by its name or local
 * part, or an empty sender. People and their automatic replies quote such words, too.
 */
function isFromReporter({ fields }: MessageOutline): boolean {
  if (valuesOf(fields, 'x-failed-recipients').length > 0) return true
  const from = (valuesOf(fields, 'from')[0] ?? '').trim()
  return /^(?:<\s*>)?$/.test(from) || REPORTER.test(from.replaceAll(/@[^\s<>@]+/g, ''))
}

const ADDRESS_IN_TEXT = /[^\s<>()[\]:;,"'|=*]{1,64}@[^\s<>()[\]:;,"'|=*@]{1,255}/g

/** The recipients that the words of a report name. */
function readProse(outline: MessageOutline): FailedRecipient[] {
  const subject = valuesOf(outline.fields, 'subject')[0] ?? ''
  const begun = outline.text.slice(0, PROSE_LENGTH_MAX)
  const cut = COPY_BEGINS.exec(begun)?.index ?? begun.length
  const text = begun.slice(0, cut)
  const isFailure = DIALECTS.some(({ mark }) => mark.test(text) || mark.test(subject))
  if (!isFailure || STILL_TRYING.test(text) || STILL_TRYING.test(subject)) return []
  const inField = failedRecipients(outline).map(address => ({ address, reason: '' }))
  return mergeReasons([...findInText(text), ...inField].slice(0, ADDRESSES_MAX), text, reporterOf(outline))
}

/** The recipients of a field that Exim and Gmail write. */
function failedRecipients({ fields }: MessageOutline): string[] {
  return valuesOf(fields, 'x-failed-recipients')
    .flatMap(value => value.split(',', ADDRESSES_MAX))
    .slice(0, ADDRESSES_MAX)
    .map(address => address.trim())
}

/** The addresses in a text, each with the words between it and the next other one. */
function findInText(text: string): Array<{ address: string; reason: string }> {
  const found = [...text.matchAll(ADDRESS_IN_TEXT)].slice(0, ADDRESSES_MAX)
  let end = text.length
  return found
    .toReversed()
    .map(({ 0: address, index }, place, reversed) => {
      const behind = reversed[place - 1]
      if (behind && behind[0] !== address) end = behind.index
      const reason = text.slice(index + address.length, Math.min(end, index + REASON_LENGTH_MAX))
      return { address: address.replace(/[.!?]+$/, ''), reason }
    })
    .toReversed()
}

/** One of each address. One without a reason of its own is shown with the text of the report. */
function mergeReasons(
  found: readonly { address: string; reason: string }[],
  text: string,
  hosts: string[],
): FailedRecipient[] {
  const reasons = new Map<string, string>()
  for (const { address, reason } of found) {
    if (!isAddress(address)) continue
    const known = reasons.get(address) ?? ''
    if (known.length < REASON_LENGTH_MAX)
      reasons.set(address, `${known} ${reason.replace(/^[>:\s]+/, '')}`.trim().slice(0, REASON_LENGTH_MAX))
  }
  const whole = showDiagnostic(text)
  return [...reasons].map(([address, reason]) => {
    const isOwn = /\d|\p{L}{4}/u.test(reason)
    const diagnostic = isOwn ? showDiagnostic(reason) : whole
    return { addresses: [address], hosts, status: null, diagnostic, isOwn }
  })
}
