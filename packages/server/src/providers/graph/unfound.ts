import type { ArrivedStep } from '../mail.ts'
import type { AskOptions } from './api.ts'
import type { FolderCursor } from './cursor.ts'
import { type Fetched, fetchMessages } from './fetch.ts'
import type { GraphConnection } from './graph-connection.ts'

/* Messages that Graph names before every one of its servers has them. They are asked for again. */

/** Ids in a cursor. */
const UNFOUND_MAX = 100
/** After this time a message that Graph named, and does not have, has come and gone. */
const UNFOUND_MS_MAX = 60_000

/**
 * Adds messages to the cursor that were named and not found. If it has no room, the others are tried again after a while,
 * like unreadable messages.
 */
export function noteUnfound(
  cursor: FolderCursor,
  { gone, unreadable }: Pick<Fetched, 'gone' | 'unreadable'>,
  now: number,
): { cursor: FolderCursor; unreadable: Fetched['unreadable'] } {
  if (gone.length === 0) return { cursor, unreadable }
  const all = [...new Set([...cursor.unfound, ...gone])]
  const others = all.slice(UNFOUND_MAX).map(key => ({ key, reason: 'Microsoft Graph does not have it yet' }))
  return {
    cursor: { ...cursor, unfound: all.slice(0, UNFOUND_MAX), unfoundAt: now },
    unreadable: [...unreadable, ...others],
  }
}

/** Fetches the messages again that were not found. Null if that changed nothing. */
export async function findAgain(
  connection: GraphConnection,
  cursor: FolderCursor,
  options: AskOptions,
): Promise<{ cursor: FolderCursor; found: Pick<ArrivedStep, 'messages' | 'unreadable'> } | null> {
  if (cursor.unfound.length === 0) return null
  const { messages, unreadable, gone } = await fetchMessages(connection, cursor.unfound, options)
  const isOver = connection.api.now() - (cursor.unfoundAt ?? 0) > UNFOUND_MS_MAX
  const unfound: string[] = isOver ? [] : gone
  if (messages.length === 0 && unreadable.length === 0 && unfound.length === cursor.unfound.length)
    return null
  return { cursor: { ...cursor, unfound }, found: { messages, unreadable } }
}
