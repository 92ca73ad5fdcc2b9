import { entriesOf } from '../history.ts'
import type { Check } from '../violation.ts'

/** I5: a message that was downloaded in whole is the message that was sent. */
export const checkBodies: Check = ({ history }) =>
  entriesOf(history, 'body')
    .filter(({ digest, sentDigest }) => digest !== sentDigest)
    .map(({ accountId, subject }) => ({
      invariant: 'I5',
      message: `“${subject}” in ${accountId} was downloaded with other bytes than were sent`,
    }))
