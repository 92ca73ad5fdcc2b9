import { calendarMethods } from './calendars/calendar-methods.ts'
import { eventDeltaMethods } from './calendars/delta.ts'
import { eventReadMethods } from './calendars/reading.ts'
import { eventWriteMethods } from './calendars/writing.ts'
import { categoryMethods } from './categories.ts'
import { contactMethods } from './contacts/methods.ts'
import { deltaMethods } from './delta.ts'
import { folderDeltaMethods } from './folder-delta.ts'
import { folderChangeMethods } from './folder-changes.ts'
import { folderMethods } from './folders.ts'
import { settingsMethods } from './mailbox-settings.ts'
import { messageMethods } from './messages.ts'
import type { GraphMethod } from './method.ts'
import { writeMethods } from './write-methods.ts'

/** Every method of mail, contacts and calendars that this Graph has. */
export const METHODS: readonly GraphMethod[] = [
  ...folderMethods,
  ...folderChangeMethods,
  ...folderDeltaMethods,
  ...messageMethods,
  ...deltaMethods,
  ...categoryMethods,
  ...settingsMethods,
  ...writeMethods,
  ...contactMethods,
  ...calendarMethods,
  ...eventReadMethods,
  ...eventDeltaMethods,
  ...eventWriteMethods,
]

export interface Match {
  method: GraphMethod
  params: Record<string, string>
}

export type Found = { match: Match } | { match: null; isKnownPath: boolean; verbs: string[]; segment: string }

const ROUTES = METHODS.map(method => ({ method, segments: method.path.split('/') })).toSorted(
  (a, b) => parameters(a.segments) - parameters(b.segments),
)

function parameters(segments: string[]): number {
  return segments.filter(segment => segment.startsWith('{')).length
}

/**
 * Finds the method of a path below a mailbox. Keys may be in parentheses (`mailFolders('inbox')`) and functions may
 * have their namespace and parentheses (`microsoft.graph.delta()`).
 */
export function findMethod(http: string, path: string): Found {
  const given = segmentsOf(path)
  const fitting = ROUTES.flatMap(({ method, segments }) => {
    const params = paramsOf(segments, given)
    return params ? [{ method, params }] : []
  })
  const best = fitting[0]
  const match = fitting.find(({ method }) => method.http === http && method.path === best?.method.path)
  if (match) return { match }
  return {
    match: null,
    isKnownPath: best !== undefined,
    verbs: fitting.map(({ method }) => method.http),
    segment: given.at(-1) ?? '',
  }
}

function segmentsOf(path: string): string[] {
  return path
    .split('/')
    .filter(segment => segment !== '')
    .flatMap(segment => {
      const text = decodeSegment(segment).replace(/^microsoft\.graph\./, '')
      const [, name, key] = /^(\w+)\('((?:[^']|'')*)'\)$/.exec(text) ?? []
      if (name !== undefined && key !== undefined) return [name, key.replaceAll("''", "'")]
      return [text.replace(/\(\)$/, '')]
    })
}

function paramsOf(segments: string[], given: string[]): Record<string, string> | null {
  if (segments.length !== given.length) return null
  const params: Record<string, string> = {}
  for (const [at, segment] of segments.entries()) {
    const value = given[at] ?? ''
    if (segment.startsWith('{')) params[segment.slice(1, -1)] = value
    else if (segment.toLowerCase() !== value.toLowerCase()) return null
  }
  return params
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
