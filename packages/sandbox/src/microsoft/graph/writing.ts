import { z } from 'zod'
import type { Ground } from '../../world/ground.ts'
import type { User } from '../../world/users.ts'
import { type LateCopies, openLateCopies } from '../sending/late-copies.ts'
import { type Absences, openAbsences } from './absences.ts'
import { openThrottle, type Throttle, DEFAULT_THROTTLE, ThrottleSchema } from './throttle.ts'
import { openUploadSessions, type UploadSessions } from './upload-store.ts'

/** Settings of writes, sends and limits, which `PATCH /graph` of the control API changes. */
export const WritingSettingsSchema = z.strictObject({
  ...ThrottleSchema.shape,
  /** Seconds by the sandbox's clock before the copy of a sent message is in Sent Items. */
  lateCopySeconds: z.number().min(0).max(86_400),
  /** The mailbox that gets the copy of what a delegate sends from a shared one. */
  copyIn: z.enum(['own', 'delegate']),
  /** Whether MIME above 2,240 KiB is answered 200 and makes nothing; otherwise it is taken. */
  mimeVanishes: z.boolean(),
  /** Number of reads by id that do not find a message after a notice of its arrival. */
  notFoundAfterNotice: z.int().min(0).max(1_000),
  /** Whether each answer about attachments names them by other ids, all of which work. */
  attachmentIds: z.enum(['kept', 'changing']),
  /** Whether upload sessions of shared mailboxes work. */
  sharedUploads: z.enum(['work', 'fail']),
})

export type WritingSettings = z.output<typeof WritingSettingsSchema>

const DEFAULT_WRITING: WritingSettings = {
  ...DEFAULT_THROTTLE,
  lateCopySeconds: 0,
  copyIn: 'own',
  mimeVanishes: true,
  notFoundAfterNotice: 0,
  attachmentIds: 'kept',
  sharedUploads: 'work',
}

/** Parts of Graph's mail that only writing methods use. */
export interface Writing {
  readonly settings: WritingSettings
  readonly throttle: Throttle
  readonly uploads: UploadSessions
  readonly lateCopies: LateCopies
  readonly absences: Absences
  /** Makes text that no other MIME boundary or Message-ID has. */
  unique(): string
  close(): void
}

export function openWriting(ground: Pick<Ground, 'clock' | 'random'>): Writing {
  const { clock } = ground
  const random = ground.random.stream('writes of Graph')
  const settings = { ...DEFAULT_WRITING }
  const lateCopies = openLateCopies(clock)
  return {
    settings,
    throttle: openThrottle(settings, clock.now, random),
    uploads: openUploadSessions(clock.now, random),
    lateCopies,
    absences: openAbsences(),
    unique: () => random.hex(32).toUpperCase(),
    close: () => lateCopies.close(),
  }
}

/** Whether a delegate calls for the mailbox of another user. */
export const isDelegate = ({ caller, owner }: { caller: { user: User }; owner: User }): boolean =>
  caller.user.email !== owner.email
