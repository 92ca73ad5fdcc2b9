import { openFairSemaphore } from '../../kit/fair-semaphore.ts'
import { MODULE_SUFFIX } from '../../kit/module-suffix.ts'
import { ThreadLost, TooMuchWork, WorkThread } from '../../kit/work-thread.ts'
import type { CalendarWindow } from '../calendars.ts'
import type { MailedEvent } from '../changing-calendars.ts'
import type { ContactChange } from '../contacts.ts'
import { ProviderFailure } from '../failure.ts'
import type { ReadCard } from './cards/read-card.ts'
import type { EditOptions } from './events/edit-events.ts'
import type { EventEdit } from './events/event-edit.ts'
import type { EventsOfFile } from './events/read-events.ts'
import {
  doShortTask,
  type FileOutcome,
  type FileResults,
  type FileTask,
  LongTask,
  refusalOf,
} from './file-tasks.ts'

/** Reads and edits files of DAV servers: small ones at once, and all others in a thread beside the event loop. */
export interface FileThread extends AsyncDisposable {
  /** @throws UnreadableCard if the file has no card, exceeds a bound, or takes too long */
  readCard(party: string, bytes: Buffer): Promise<ReadCard>
  /** As `editCard` of the cards. @throws UnreadableCard, UnwritableCard */
  editCard(party: string, bytes: Buffer, change: ContactChange): Promise<Buffer>
  /**
   * @param zones the zone of the calendar, and the time in which zones are compared
   * @returns null if the file has components of other kinds only
   * @throws UnreadableEvents if the file has no event with a start, exceeds a bound, or takes too long
   */
  readEvents(party: string, bytes: Buffer, zones: EventZones): Promise<EventsOfFile | null>
  /** As `readMailedEvent`. @throws UnreadableEvents if it exceeds a bound, or takes too long */
  readInvitation(
    party: string,
    bytes: Buffer,
    whose: { from: string; own: ReadonlySet<string> },
  ): Promise<MailedEvent | null>
  /**
   * As `editEvents`. @returns null if nothing of the event is left
   * @throws UnreadableEvents, UnwritableEvents, UnheldChange, MissingMember
   */
  editEvents(
    party: string,
    bytes: Buffer,
    asked: { edit: EventEdit; options: EditOptions; zones: EventZones },
  ): Promise<Buffer | null>
}

export interface EventZones {
  /** An IANA name; null if the calendar has none. */
  timeZone: string | null
  window: CalendarWindow
}

export interface FileThreadOptions {
  /** Most processor time of one file in the thread. */
  workMsMax?: number
}

const WORK_MS_MAX = 5_000
const HEAP_MB_MAX = 256
const TOO_LONG = 'The file takes too much time or memory to read'

/** Opens the thread, which starts with the first large file. Parties take turns at it. */
export function openFileThread({ workMsMax = WORK_MS_MAX }: FileThreadOptions = {}): FileThread {
  const script = new URL(`file-worker${MODULE_SUFFIX}`, import.meta.url)
  const permits = openFairSemaphore({ atOnce: 1 })
  let thread: WorkThread<FileTask, FileOutcome> | null = null
  let isClosed = false

  async function askThread(task: FileTask): Promise<FileOutcome> {
    if (isClosed) throw new ProviderFailure('unavailable', 'The service is stopping.')
    if (thread === null || thread.hasEnded) thread = new WorkThread({ script, heapMbMax: HEAP_MB_MAX })
    // A small buffer is part of a pool, and would be sent with all of it.
    const bytes = new Uint8Array(task.bytes)
    try {
      return await thread.ask({ ...task, bytes }, { msLeft: workMsMax }, [bytes.buffer])
    } catch (error) {
      if (error instanceof TooMuchWork) return tooLong(task)
      if (!(error instanceof ThreadLost)) throw error
      throw new ProviderFailure('unavailable', 'The service is stopping.', { cause: error })
    }
  }

  async function outcomeOf(party: string, task: FileTask): Promise<FileOutcome> {
    try {
      return doShortTask(task)
    } catch (error) {
      if (!(error instanceof LongTask)) throw error
    }
    // Any number may wait.
    return permits.take(party, () => askThread(task))!
  }

  async function resultOf<Type extends FileTask['type']>(
    party: string,
    task: FileTask & { type: Type },
  ): Promise<FileResults[Type]> {
    const outcome = await outcomeOf(party, task)
    if (outcome.type === 'refused') throw refusalOf(outcome)
    // The type of the result is that of the task.
    return outcome.result as FileResults[Type]
  }

  function tooLong({ type }: FileTask): FileOutcome {
    return {
      type: 'refused',
      refusal: type === 'readCard' || type === 'editCard' ? 'UnreadableCard' : 'UnreadableEvents',
      reason: TOO_LONG,
    }
  }

  return {
    readCard: (party, bytes) => resultOf(party, { type: 'readCard', bytes }),
    async editCard(party, bytes, change) {
      const written = await resultOf(party, { type: 'editCard', bytes, change })
      return Buffer.from(written.buffer, written.byteOffset, written.length)
    },
    readEvents: (party, bytes, zones) => resultOf(party, { type: 'readEvents', bytes, ...zones }),
    readInvitation: (party, bytes, { from, own }) =>
      resultOf(party, { type: 'readInvitation', bytes, from, own }),
    async editEvents(party, bytes, { edit, options, zones }) {
      const written = await resultOf(party, { type: 'editEvents', bytes, edit, options, ...zones })
      return written && Buffer.from(written.buffer, written.byteOffset, written.length)
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await thread?.[Symbol.asyncDispose]()
    },
  }
}
