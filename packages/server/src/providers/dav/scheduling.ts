import { requestAnswer } from './file-writing.ts'
import type { FileSource } from './files.ts'
import { askAll } from './ask.ts'
import { canonicalPath, pathOf, urlOf } from './hrefs.ts'
import { propHref } from './multistatus.ts'
import { CAL, D, propfindBody } from './names.ts'

/** Whether the server of a home tells people of invitations (RFC 6638). */
export interface Scheduling {
  isOffered(signal?: AbortSignal): Promise<boolean>
}

/**
 * Headers of a change of which nobody is informed. The first one is of RFC 6638 section 8.1 for attendees, and sabre/dav
 * takes it of organizers too; the second one is of Cyrus. Otherwise both would send a cancellation when SCHEDULE-AGENT becomes CLIENT.
 */
export const SILENCE = { 'schedule-reply': 'F', 'scheduling-enabled': 'F' } as const

/** The server is asked once. */
export function openScheduling(source: FileSource): Scheduling {
  let known: Promise<boolean> | null = null
  return {
    isOffered(signal) {
      known ??= askForScheduling(source, signal).catch((error: unknown) => {
        known = null
        throw error
      })
      return known
    },
  }
}

/** A server that schedules says so in its DAV header, and gives the user an outbox (RFC 6638 sections 2 and 2.1). */
async function askForScheduling(source: FileSource, signal: AbortSignal | undefined): Promise<boolean> {
  const { client, home } = source
  const path = canonicalPath(home.pathname)
  const { headers } = await requestAnswer(source, { method: 'OPTIONS', path, isCollection: true })
  const classes = [headers['dav'] ?? []].flat().join(',').toLowerCase().split(',')
  if (!classes.some(one => one.trim() === 'calendar-auto-schedule')) return false
  const hrefAt = async (url: URL, name: string): Promise<string | null> => {
    const body = propfindBody([name])
    const { told } = await askAll(client, { method: 'PROPFIND', url, depth: '0', body, signal })
    return told.map(one => propHref(one, name)).find(href => href !== null) ?? null
  }
  const principal = await hrefAt(urlOf(path, home, true), D.principal)
  const principalPath = principal === null ? null : pathOf(principal, home)
  return principalPath !== null && (await hrefAt(urlOf(principalPath, home, true), CAL.outboxUrl)) !== null
}
