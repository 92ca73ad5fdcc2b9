import { readToken } from '../../google/api/place-tokens.ts'
import { invalidArgument, Refusal } from '../../google/api/refusal.ts'
import { errorInfo } from '../../google/errors.ts'
import type { Book } from '../book.ts'

const LIFETIME_MS = 7 * 24 * 3_600_000

/** A place up to which a client knows the changes of a book. */
export interface SyncPlace {
  sequence: number
  generation: number
  /** Time of the full sync from which the token descends, in milliseconds since 1970. */
  fullAt: number
  /** Parameters of the first call, which later ones must repeat. */
  parameters: string
}

/** A place within a listing. */
export interface PagePlace {
  /** Key of the last contact that was listed. */
  after: string
  parameters: string
  sync: SyncPlace | null
}

/** Reads a sync token. Throws the refusal of one that has expired, or is of other parameters. */
export function readSyncToken(book: Book, token: string, parameters: string): SyncPlace {
  const place = requireToken<SyncPlace>(token, 'Sync token')
  if (typeof place.sequence !== 'number') throw invalidArgument('Sync token is invalid.')
  requireSame(place, parameters, 'Sync token')
  const isOld = place.fullAt < book.now() - LIFETIME_MS
  if (isOld || place.generation < book.generation || place.sequence > book.sequence) throw expired()
  return place
}

export function readPageToken(token: string, parameters: string): PagePlace {
  const place = requireToken<PagePlace>(token, 'Page token')
  if (typeof place.after !== 'string') throw invalidArgument('Page token is invalid.')
  requireSame(place, parameters, 'Page token')
  return place
}

function requireToken<Place>(token: string, name: string): Partial<Place> & Place {
  const place = readToken<Place>(token)
  if (!place) throw invalidArgument(`${name} is invalid.`)
  return place
}

function requireSame(place: { parameters: string }, parameters: string, name: string): void {
  if (place.parameters !== parameters)
    throw invalidArgument(`${name} cannot be used with different request parameters than the first call.`)
}

const expired = (): Refusal =>
  new Refusal({
    code: 400,
    status: 'FAILED_PRECONDITION',
    message: 'Sync token is expired. Clear local cache and retry call without the sync token.',
    reason: 'failedPrecondition',
    details: [errorInfo('EXPIRED_SYNC_TOKEN', 'people.googleapis.com')],
  })
