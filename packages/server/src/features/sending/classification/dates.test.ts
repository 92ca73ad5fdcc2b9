import { describe, expect, test } from 'vitest'
import { RECEIVED } from '../../../../test/sending/answers/classify-text.ts'
import { findReturnDate } from './dates.ts'

/** A Tuesday, from which 7 December is the Monday after next. */
const NOVEMBER = new Date('2026-11-24T09:00:00Z')
const BACK = '2026-12-07'

describe('findReturnDate', () => {
  test.each([
    // German
    ['Ich bin erst am 07.12.2026 wieder im Büro.', BACK],
    ['Ich bin erst am 7.12. wieder erreichbar.', BACK],
    ['Erst am 7. Dezember wieder da.', BACK],
    ['Ich bin erst wieder am 7. Dezember erreichbar.', BACK],
    ['Ich bin erst ab dem 7. Dezember wieder im Büro.', BACK],
    ['Ich bin erst ab Montag, 7. Dezember, wieder da.', BACK],
    ['Am 7. Dezember bin ich wieder für Sie da.', BACK],
    ['Ich kehre am 7. Dezember zurück.', BACK],
    ['Ich komme am Montag, den 7. Dezember 2026, zurück.', BACK],
    ['Ich bin vom 1. bis zum 4.12.2026 abwesend und am 7.12.2026 wieder da.', BACK],
    ['Am 7. Dezember ist Feiertag.', null],
    ['Die Messe ist am 7.12.2026 in Köln.', null],
    // Finnish
    ['Palaan toimistoon 7.12.2026.', BACK],
    ['Palaan toimistolle 7.12.', BACK],
    ['Palaan töihin maanantaina 7.12.2026.', BACK],
    ['Palaan 7. joulukuuta.', BACK],
    ['Olen taas töissä 7.12.2026.', BACK],
    ['Olen takaisin toimistolla 7.12.', BACK],
    ['Olen lomalla 4.12.2026 asti.', '2026-12-04'],
    ['Olen poissa 4. joulukuuta saakka.', '2026-12-04'],
    ['Olen lomalla 30.11.–4.12. ja palaan 7.12.', BACK],
    ['Kokous on 7.12.2026.', null],
    // Slovak and Czech
    ['Vrátim sa 7. decembra.', BACK],
    ['Vrátim sa do kancelárie 7. decembra 2026.', BACK],
    ['Budem späť 7. decembra.', BACK],
    ['Budem opäť v kancelárii od 7. decembra.', BACK],
    ['Som na dovolenke do 4. decembra.', '2026-12-04'],
    ['Vrátim sa v pondelok 7.12.2026.', BACK],
    ['Vrátim sa v pondelok.', '2026-11-30'],
    ['Vrátim sa 15. januára.', '2027-01-15'],
    ['Vrátím se 7. prosince.', BACK],
    ['Vrátím se do práce 7. 12. 2026.', BACK],
    ['Budu zpět v kanceláři 7. prosince 2026.', BACK],
    ['Výročná schôdza je 7. decembra.', null],
    ['Vrátím se 7. září.', '2027-09-07'],
    ['Vrátím se 7. března.', '2027-03-07'],
    // Dutch
    ['Ik ben maandag 7 december weer aanwezig.', BACK],
    ['Ik ben 7 december weer op kantoor.', BACK],
    ['Ik ben op maandag 7 december 2026 terug.', BACK],
    ['Ik ben vanaf maandag 7 december weer bereikbaar.', BACK],
    ['Ik ben maandag weer aanwezig.', '2026-11-30'],
    ['Maandag 7 december ben ik er weer.', BACK],
    ['Ik ben terug op 7 december.', BACK],
    ['Ik ben maandag 7 december afwezig.', null],
    ['Ik ben op 7 december jarig.', null],
    // Others
    ['On Monday, 7 December, I will be back.', BACK],
    ["I'm away from 30 November and return on 7 December 2026.", BACK],
    ['I return to work Monday, December 7th.', BACK],
    ['Den 7 december är jag tillbaka.', BACK],
    ['Jag är tillbaka måndag 7 december.', BACK],
    ['Jeg er tilbage mandag den 7. december.', BACK],
    ['Jeg er tilbake på jobb mandag 7. desember.', BACK],
    ['Je serai de retour lundi 7 décembre.', BACK],
    ['Je rentre le 7 décembre 2026.', BACK],
    ['Sarò nuovamente in ufficio lunedì 7 dicembre.', BACK],
    ['Estaré de nuevo en la oficina el lunes 7 de diciembre.', BACK],
    ['Estarei de volta ao escritório na segunda-feira, 7 de dezembro.', BACK],
    ['Wracam do biura w poniedziałek 7 grudnia.', BACK],
    ['Wrócę 7 grudnia 2026 r.', BACK],
  ])('reads %s as %s', (text, expected) => expect(findReturnDate(text, NOVEMBER)).toBe(expected))

  test.each([
    ['back on 3/20', '2026-03-20'],
    ['back on 20/3/26', '2026-03-20'],
    ['back on 04/05/2026', null],
    ['back on Friday', '2026-03-13'],
    ['I am back on Tuesday', '2026-03-17'],
    ['back on 2 January', '2027-01-02'],
    ['back on 30 February 2026', null],
    ['until 1 March 2019', null],
    ['until 20 March 2099', null],
    ['bin ab Montag wieder da', '2026-03-16'],
    ['zurück am 2.4.', '2026-04-02'],
    ['I worked there until my retirement', null],
    ['my number is back 12 34', null],
  ])('reads %s as %s', (text, expected) => expect(findReturnDate(text, RECEIVED)).toBe(expected))
})
