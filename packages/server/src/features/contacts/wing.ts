import { accountKeys } from '../../accounts/secrets.ts'
import { hourlyAt } from '../../jobs/schedule.ts'
import { openFairSemaphore } from '../../kit/fair-semaphore.ts'
import type { Resources } from '../../wing/resources.ts'
import type { Wing } from '../../wing/wing.ts'
import { contactChangeOperations } from './contacts/change-operations.ts'
import { contactOperations } from './contacts/operations.ts'
import { openContactsFollower } from './following/follower.ts'
import { contactFolderOperations } from './folders/operations.ts'
import { photoOperations } from './photos/operations.ts'
import { listOwnPhotos, sweepPhotos } from './photos/store.ts'
import { purgeContacts } from './purge.ts'
import { CONTACT_TIMES } from './stored-times.ts'

/** A photo that is fetched is in memory. */
const PHOTO_FETCHES = { atOnce: 4, kept: 1, waitingMax: 64, waitingOfOneMax: 16 }

export function openContacts({ db, keyRing, blobs, connections, log }: Resources) {
  const photos = { db, blobs, accountKeys: accountKeys(keyRing), connections, log }
  return {
    operations: {
      contacts: {
        ...contactOperations,
        ...contactChangeOperations({ connections }),
        ...photoOperations({ ...photos, fetches: openFairSemaphore(PHOTO_FETCHES) }),
      },
      contactFolders: contactFolderOperations,
    },
    recurringTasks: () => [
      {
        name: 'sweep_contact_photos',
        schedule: hourlyAt(33),
        run: signal => sweepPhotos(db, blobs, signal),
      },
    ],
    ownedBlobs: ids => listOwnPhotos(db, ids),
    purgeStep: (accountId, signal) => purgeContacts(db, blobs, accountId, signal),
    follower: openContactsFollower({ db }),
    storedTimes: CONTACT_TIMES,
  } satisfies Wing
}
