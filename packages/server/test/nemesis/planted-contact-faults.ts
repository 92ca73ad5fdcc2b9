import type { PlantedFault } from './planted-faults.ts'
import { sampleContact, sampleContactEvent, sampleRequest } from './sample-evidence.ts'

/** Promises about contacts that are broken, one each, with its report. */
export const PLANTED_AT_BOOKS: PlantedFault[] = [
  [
    'I5',
    'a card that the index does not have',
    ({ end }) => void end.contacts[0]!.truth.push('Card 9: , note 1'),
    /contacts of account account-1: the index lacks “Card 9: , note 1”/,
  ],
  [
    'I5',
    'a change that the server does not have',
    ({ end }) => void (end.contacts[0]!.index[0] = 'Card 1: other, '),
    /contacts of account account-1: the index lacks “Card 1: , ”; the index has “Card 1: other, ”/,
  ],
  [
    'I5',
    'a contact that was made twice',
    ({ end }) => {
      end.contacts[0]!.truth.push('Made 1: , ')
      end.contacts[0]!.index.push('Made 1: , ')
    },
    /account account-1: the server has “Made 1” more than once/,
  ],
  [
    'I5',
    'a contact that was acknowledged and is lost',
    ({ history }) =>
      void history.push(
        sampleRequest({ requestId: 'r1', contact: { accountId: 'account-1', name: 'Made 2' } }),
      ),
    /the contact account-1 Made 2 was acknowledged, and the server does not have it/,
  ],
  [
    'I6',
    'a contact that was changed and never announced',
    ({ end }) => void end.contacts[0]!.after.set('c1', sampleContact('c1', 'Card 1', { nickname: 'Nick' })),
    /account account-1: the feed has other values of nickname of contact c1/,
  ],
  [
    'I6',
    'a contact that was announced twice',
    ({ end }) =>
      void end.feed.push(sampleContactEvent('9', 'contact.created', sampleContact('c2', 'Made 1'))),
    /account account-1: Error: contact.created of .*that was there/,
  ],
  [
    'I6',
    'a contact that got another id',
    ({ end }) => {
      end.feed.push(sampleContactEvent('9', 'contact.deleted', sampleContact('c1', 'Card 1')))
      end.feed.push(sampleContactEvent('10', 'contact.created', sampleContact('c3', 'Card 1')))
      end.contacts[0]!.after.delete('c1')
      end.contacts[0]!.after.set('c3', sampleContact('c3', 'Card 1'))
    },
    /account account-1: “Card 1” had 2 ids/,
  ],
]
