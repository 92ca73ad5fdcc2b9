import { describe, expect, test } from 'vitest'
import { classify } from '../../../../test/sending/answers/classify-text.ts'

const AUTO = ['Auto-Submitted: auto-replied']
const LOOP = ['X-MS-Exchange-Inbox-Rules-Loop: grace@example.org']

describe('a reply of a person is no automatic one', () => {
  test.each([
    ['Re: Vacation: cottage', 'We take it!'],
    ['RE: Vacation', 'We take it!'],
    ['AW: Urlaub: Ferienhaus', 'Wir nehmen es!'],
    ['Aw: Re: Urlaub', 'Wir nehmen es!'],
    ['SV: Semester: stuga', 'Vi tar den!'],
    ['SV: Ferie', 'Vi tager det!'],
    ['VS: Lomalla', 'Otamme sen!'],
    ['Odp: Urlop', 'Bierzemy!'],
    ['TR: Congés', 'Nous le prenons !'],
    ['RE : Absence: réunion', 'Je viens.'],
    ['R: Ferie: casa al mare', 'La prendiamo!'],
    ['RV: Vacaciones', '¡La tomamos!'],
    ['Antw: Vakantie: huisje', 'Wij nemen het!'],
    ['[EXT] Re: Vacation', 'We take it!'],
    ['Re: Automatic reply: Offer', 'Sorry, I am back now. We buy.'],
    ['AW: Automatische Antwort: Angebot', 'Ich bin wieder da. Wir kaufen.'],
    ['Re: Out of Office: Offer', 'Peter no longer works here, I took over. We buy.'],
    ['AW: Abwesenheitsnotiz: Angebot', 'Peter arbeitet nicht mehr hier, ich habe übernommen. Wir kaufen.'],
    ['RE: Réponse automatique : Offre', 'Pierre ne travaille plus ici. Nous achetons.'],
    ['Re: Offer', 'I am out of the office until Monday, but we buy.'],
    // Without a prefix, a word that people write as well needs a text that fits.
    ['Vacation: cottage', 'We take it!'],
    ['Urlaub: Ferienhaus', 'Wir nehmen es!'],
    ['Absence: la réunion de lundi', 'Je viens quand même.'],
    ['Vacaciones: la casa', '¡La tomamos!'],
    ['Ferie', 'La prendiamo!'],
    ['Semester', 'Vi tar den!'],
    ['Out of office hours', 'I will look at it.'],
  ])('%s: %s', (subject, text) => {
    expect(classify(text, [], subject)).toBeNull()
    // Rules of a mailbox write this field into mail of people, too.
    expect(classify(text, LOOP, subject)).toBeNull()
  })

  test.each([
    [['Auto-Submitted: no']],
    [['Precedence: list']],
    [['X-Autoreply: no']],
    [['X-Auto-Response-Suppress: All']],
    [LOOP],
  ])('with %j', fields => {
    expect(classify('Peter no longer works here, I took over. We buy.', fields)).toBeNull()
    expect(classify('Out of office until Monday. We buy.', fields)).toBeNull()
  })

  test('an opt-out among them is one', () => {
    expect(classify('Unsubscribe', LOOP, 'Re: Vacation: cottage')).toMatchObject({ kind: 'opt_out' })
  })
})

describe('an automatic reply is known', () => {
  test.each([
    ['Re: Vacation: cottage', AUTO, 'We take it!'],
    ['AW: Urlaub', ['Auto-Submitted: auto-replied (vacation)'], 'Beep.'],
    ['Automatic reply: Offer', [], 'Beep.'],
    ['Automatic reply: Offer', LOOP, 'Beep.'],
    ['Out of Office: Offer', [], 'Beep.'],
    ['[Auto-Reply] Offer', [], 'Beep.'],
    ['Abwesenheitsnotiz: Angebot', [], 'Beep.'],
    ['Absence du bureau : offre', [], 'Beep.'],
    ['Vacation', [], 'I am on vacation until 20 March.'],
    ['Urlaub', [], 'Ich bin im Urlaub.'],
    ['Absence', [], 'Je suis absente du bureau.'],
    ['Ausente: oferta', [], 'Estoy de vacaciones.'],
    ['Ferie', [], 'Sono in ferie.'],
    ['Afwezig', [], 'Ik ben met vakantie.'],
    ['Urlop', [], 'Jestem na urlopie.'],
    ['Semester', [], 'Jag har semester.'],
    ['Lomalla', [], 'Olen lomalla.'],
    ['Dovolená', [], 'Jsem na dovolené.'],
  ])('by %s and %j', (subject, fields, text) => {
    expect(classify(text, fields, subject)).toMatchObject({ kind: 'auto_reply' })
  })
})

describe('an absence that thanks first', () => {
  test.each([
    [
      'Out of Office: Offer',
      'Thanks for your message! I am away and return on 7 December 2026. Please write to max@example.org.',
    ],
    [
      'Out of Office: Offer',
      'Thank you for your e-mail. I will get back to you when I return on December 7, 2026. Urgent: max@example.org',
    ],
    [
      'Automatic reply: Offer',
      "Thanks for your message! I'm away, and will be back on 7 December 2026. Ask max@example.org.",
    ],
    [
      'Abwesenheitsnotiz: Angebot',
      'Danke für Ihre Nachricht! Ich bin unterwegs und kehre am 7. Dezember 2026 zurück. Vertretung: max@example.org.',
    ],
    [
      'Automatische Antwort: Angebot',
      'Vielen Dank für Ihre Nachricht. Ich bin derzeit nicht da und ab dem 7. Dezember 2026 wieder erreichbar: max@example.org',
    ],
    [
      'Absence du bureau : offre',
      'Merci pour votre message ! Je suis en voyage et je reviens le 7 décembre 2026. Écrivez à max@example.org.',
    ],
    [
      'Réponse automatique : offre',
      'Merci pour votre message. Je ne suis pas là, et je serai de retour le 7 décembre 2026. max@example.org',
    ],
    [
      'Fuera de la oficina: oferta',
      'Gracias por su mensaje. Vuelvo el 7 de diciembre de 2026. Escriba a max@example.org.',
    ],
    ['Fuori ufficio: offerta', 'Grazie per il tuo messaggio. Torno il 7 dicembre 2026: max@example.org'],
    [
      'Fora do escritório: oferta',
      'Obrigada pela sua mensagem. Volto no dia 7 de dezembro de 2026. max@example.org',
    ],
    ['Afwezigheid', 'Bedankt voor uw bericht. Ik ben afwezig en terug op 7 december 2026. max@example.org'],
  ])('%s: %s', (subject, text) => {
    expect(classify(text, [], subject)).toMatchObject({
      kind: 'auto_reply',
      autoReplyCategory: 'out_of_office',
      returnDate: '2026-12-07',
      alternateContacts: ['max@example.org'],
    })
  })

  test.each([
    ['Hi, I am OOO this week.'],
    ['I am on PTO and will respond when I can.'],
    ['I am traveling on business with limited access.'],
    ['Our office is closed until January 4. We will respond then.'],
    ['Sie erreichen mich wieder ab Montag.'],
    ['Unser Büro ist bis Neujahr geschlossen.'],
  ])('in other words: %s', text => {
    expect(classify(text, AUTO)).toMatchObject({ autoReplyCategory: 'out_of_office' })
  })

  test.each([
    ['left_company', 'Ich habe das Unternehmen zum 28.02. verlassen.'],
    ['address_changed', 'This mailbox is no longer monitored. Please write to max@example.org.'],
  ])('is not taken for %s: %s', (category, text) => {
    expect(classify(text, AUTO)).toMatchObject({ autoReplyCategory: category })
  })

  test.each([
    ['Automatic reply: Offer', 'Thank you for your message. We have received it.'],
    ['Automatische Antwort: Angebot', 'Vielen Dank für Ihre Nachricht. Wir melden uns.'],
    ['Réponse automatique : offre', 'Nous avons bien reçu votre message.'],
  ])('is not taken for an acknowledgement: %s: %s', (subject, text) => {
    expect(classify(text, [], subject)).toMatchObject({
      autoReplyCategory: 'acknowledgement',
      returnDate: null,
    })
  })
})

describe('an absence that mentions a colleague who left', () => {
  test.each([
    [
      'I am out of the office until 20 March 2026. Please note that Peter is no longer with the company; write to max@example.org.',
      '2026-03-20',
    ],
    ['I am on holiday. Eve has left the company, so please write to max@example.org.', null],
    ['Peter has left the company. I am away until 20 March 2026: max@example.org', '2026-03-20'],
    [
      'Ich bin bis 20.03.2026 im Urlaub. Herr Maier ist nicht mehr bei uns tätig, bitte schreiben Sie an max@example.org.',
      '2026-03-20',
    ],
    ['Ich bin abwesend. Frau Maier hat das Unternehmen verlassen: max@example.org', null],
    [
      "Je suis en congé jusqu'au 20 mars 2026. Pierre a quitté l'entreprise, écrivez à max@example.org.",
      '2026-03-20',
    ],
    ['Je suis absent. Pierre ne fait plus partie de nos effectifs : max@example.org', null],
    [
      'Estoy de vacaciones hasta el 20 de marzo de 2026. Pedro ya no trabaja aquí: max@example.org',
      '2026-03-20',
    ],
    ['Sono in ferie. Pietro non lavora più con noi: max@example.org', null],
    ['Ik ben met vakantie. Piet is niet meer werkzaam bij ons: max@example.org', null],
    ['Jag har semester. Per har slutat: max@example.org', null],
    ['Jeg holder ferie. Per arbejder ikke længere her: max@example.org', null],
    ['Jestem na urlopie. Piotr już nie pracuje: max@example.org', null],
  ])('%s', (text, returnDate) => {
    expect(classify(text, AUTO)).toMatchObject({
      autoReplyCategory: 'out_of_office',
      returnDate,
      alternateContacts: ['max@example.org'],
    })
  })

  test.each([
    ['I have left the company and no longer have access to e-mail. I am on leave. Write to max@example.org.'],
    ['I no longer work at Example Ltd. My mailbox is currently unavailable: max@example.org'],
    ['Grace is no longer with the company. She is not in the office any more: max@example.org'],
    ['Ms Hopper is no longer with the company and not in the office any more: max@example.org'],
    ['Ich bin nicht mehr bei Beispiel tätig und daher nicht erreichbar: max@example.org'],
    ['Frau Hopper ist nicht mehr bei uns tätig. Das Postfach ist nicht erreichbar: max@example.org'],
    ["J'ai quitté l'entreprise. Je suis absente. max@example.org"],
    ['Ya no trabajo aquí. Estoy ausente. max@example.org'],
    ['Non lavoro più qui. Sono assente. max@example.org'],
  ])('is not taken for the notice of an author who left: %s', text => {
    expect(classify(text, AUTO)).toMatchObject({
      autoReplyCategory: 'left_company',
      alternateContacts: ['max@example.org'],
      returnDate: null,
    })
  })
})
