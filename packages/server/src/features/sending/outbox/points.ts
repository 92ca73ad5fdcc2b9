import type { ReachPoint } from '../../../kit/reach-point.ts'

/** Moments of a send, or of a change of a draft, at which a test ends the process, to see that nothing is lost and nothing is sent twice. */
export type SendPoint =
  | 'content_write'
  | 'content_written'
  | 'accept_commit'
  | 'accepted'
  | 'claimed'
  | 'mail_from'
  | 'prepare_recorded'
  | 'hand_over_commit'
  | 'hand_over_recorded'
  | 'answered'
  | 'outcome_commit'
  | 'outcome_recorded'
  | 'look_up'
  | 'copy_search'
  | 'copy_append'
  | 'copy_appended'
  | 'copy_recorded'
  | 'copy_link'
  | 'discard'
  | 'discarded'
  | 'draft_append'
  | 'draft_appended'
  | 'draft_commit'

/** Called with the id of the entry, or of the draft. */
export type ReachSendPoint = ReachPoint<SendPoint>
