import { describe, expect, test } from 'vitest'
import { classify } from '../../../../test/sending/answers/classify-text.ts'

const QUOTE =
  '\n\nOn Tue, 10 Mar 2026 at 09:00, Ada <ada@example.com> wrote:\n> To unsubscribe, write back. Stop by!'

const AUTO = ['Auto-Submitted: auto-replied']

interface AutoReply {
  language: string
  subject: string
  text: string
  returnDate?: string
  contacts?: string[]
}

const OUT_OF_OFFICE: readonly AutoReply[] = [
  {
    language: 'English',
    subject: 'Automatic reply: Figures',
    text: 'I am out of the office until 20 March 2026. Please write to max@example.org.',
    returnDate: '2026-03-20',
    contacts: ['max@example.org'],
  },
  {
    language: 'English',
    subject: 'Out of office',
    text: 'Thanks for your mail. I will be back on Monday, March 16th, with limited access to email.',
    returnDate: '2026-03-16',
  },
  {
    language: 'English',
    subject: 'Re: Figures',
    text: 'I am on annual leave, returning on 2026-04-02.',
    returnDate: '2026-04-02',
  },
  {
    language: 'German',
    subject: 'Abwesenheitsnotiz: Zahlen',
    text: 'Ich bin bis zum 20.03.2026 nicht im Büro. In dringenden Fällen: max@example.org.',
    returnDate: '2026-03-20',
    contacts: ['max@example.org'],
  },
  {
    language: 'German',
    subject: 'Automatische Antwort: Zahlen',
    text: 'Ich bin im Urlaub und ab dem 23. März wieder erreichbar.',
    returnDate: '2026-03-23',
  },
  {
    language: 'French',
    subject: 'Réponse automatique : Chiffres',
    text: 'Je suis en congé, de retour le 23 mars 2026. Contactez max@example.org.',
    returnDate: '2026-03-23',
    contacts: ['max@example.org'],
  },
  {
    language: 'French',
    subject: 'Absence',
    text: "Je suis absente du bureau jusqu'au 20 mars.",
    returnDate: '2026-03-20',
  },
  {
    language: 'Spanish',
    subject: 'Respuesta automática: Cifras',
    text: 'Estoy de vacaciones hasta el 20 de marzo de 2026.',
    returnDate: '2026-03-20',
  },
  {
    language: 'Italian',
    subject: 'Risposta automatica: Cifre',
    text: 'Sono in ferie fino al 20 marzo 2026. Rientro il 23 marzo.',
    returnDate: '2026-03-23',
  },
  {
    language: 'Portuguese',
    subject: 'Resposta automática: Números',
    text: 'Estou de férias até 20 de março de 2026.',
    returnDate: '2026-03-20',
  },
  {
    language: 'Dutch',
    subject: 'Automatisch antwoord: Cijfers',
    text: 'Ik ben afwezig tot en met 20 maart 2026.',
    returnDate: '2026-03-20',
  },
  {
    language: 'Polish',
    subject: 'Automatyczna odpowiedź: Liczby',
    text: 'Jestem na urlopie do 20 marca 2026.',
    returnDate: '2026-03-20',
  },
  {
    language: 'Swedish',
    subject: 'Autosvar: Siffror',
    text: 'Jag har semester till och med 20 mars 2026.',
    returnDate: '2026-03-20',
  },
  {
    language: 'Danish',
    subject: 'Autosvar: Tal',
    text: 'Jeg holder ferie og er tilbage den 23. marts 2026.',
    returnDate: '2026-03-23',
  },
  {
    language: 'Norwegian',
    subject: 'Automatisk svar: Tall',
    text: 'Jeg er ikke på kontoret, tilbake mandag 23. mars.',
    returnDate: '2026-03-23',
  },
  {
    language: 'Finnish',
    subject: 'Automaattinen vastaus: Luvut',
    text: 'Olen lomalla. Palaan 23. maaliskuuta 2026.',
    returnDate: '2026-03-23',
  },
  {
    language: 'Czech',
    subject: 'Automatická odpověď: Čísla',
    text: 'Jsem na dovolené do 20. března 2026.',
    returnDate: '2026-03-20',
  },
]

const LEFT: readonly [string, string][] = [
  ['English', 'Grace is no longer with the company. Please contact max@example.org.'],
  ['German', 'Frau Hopper ist nicht mehr in unserem Hause tätig. Bitte wenden Sie sich an max@example.org.'],
  ['French', "Grace a quitté l'entreprise. Écrivez à max@example.org."],
  ['Spanish', 'Grace ya no trabaja en esta empresa. Escriba a max@example.org.'],
  ['Italian', 'Grace non lavora più in azienda. Scrivete a max@example.org.'],
  ['Portuguese', 'Grace já não trabalha na empresa. Contacte max@example.org.'],
  ['Dutch', 'Grace is niet meer werkzaam bij ons. Mail max@example.org.'],
  ['Polish', 'Grace nie pracuje już w naszej firmie. Proszę pisać na max@example.org.'],
  ['Swedish', 'Grace arbetar inte längre hos oss. Skriv till max@example.org.'],
  ['Danish', 'Grace arbejder ikke længere her. Skriv til max@example.org.'],
]

const ADDRESS_CHANGED: readonly [string, string][] = [
  ['English', 'My e-mail address has changed. Please use grace.new@example.org.'],
  ['German', 'Meine E-Mail-Adresse hat sich geändert: grace.new@example.org'],
  ['French', 'Ma nouvelle adresse est grace.new@example.org'],
  ['Spanish', 'Mi nueva dirección es grace.new@example.org'],
  ['Italian', 'Il mio nuovo indirizzo è grace.new@example.org'],
  ['Dutch', 'Mijn nieuwe e-mailadres is grace.new@example.org'],
  ['Polish', 'Mój nowy adres: grace.new@example.org'],
  ['Swedish', 'Min nya adress: ny e-postadress grace.new@example.org'],
]

const ACKNOWLEDGED: readonly [string, string][] = [
  ['English', 'We have received your message. Your ticket number is 4711.'],
  ['German', 'Vielen Dank für Ihre Nachricht. Wir melden uns.'],
  ['French', 'Nous avons bien reçu votre message.'],
  ['Spanish', 'Hemos recibido su mensaje.'],
  ['Italian', 'Abbiamo ricevuto il tuo messaggio.'],
  ['Portuguese', 'Recebemos o seu pedido.'],
  ['Dutch', 'Wij hebben uw bericht ontvangen.'],
  ['Polish', 'Otrzymaliśmy Twoją wiadomość.'],
  ['Swedish', 'Tack för ditt mejl.'],
  ['Danish', 'Tak for din henvendelse.'],
]

describe('an automatic reply', () => {
  test.each(OUT_OF_OFFICE)('out of office in $language: $text', ({ subject, text, returnDate, contacts }) => {
    const expected = {
      kind: 'auto_reply',
      autoReplyCategory: 'out_of_office',
      returnDate: returnDate ?? null,
      alternateContacts: contacts ?? [],
    }
    expect(classify(text, AUTO, subject)).toMatchObject(expected)
  })

  test.each(LEFT)('somebody left, in %s', (_, text) => {
    expect(classify(text, AUTO)).toMatchObject({
      autoReplyCategory: 'left_company',
      alternateContacts: ['max@example.org'],
      returnDate: null,
    })
  })

  test.each(ADDRESS_CHANGED)('a changed address, in %s', (_, text) => {
    expect(classify(text, AUTO)).toMatchObject({
      autoReplyCategory: 'address_changed',
      alternateContacts: ['grace.new@example.org'],
    })
  })

  test.each(ACKNOWLEDGED)('an acknowledgement, in %s', (_, text) => {
    expect(classify(text, AUTO)).toMatchObject({
      autoReplyCategory: 'acknowledgement',
      alternateContacts: [],
    })
  })

  test.each([
    [['Auto-Submitted: auto-generated (ticket)'], 'Re: Hello'],
    [['X-Autoreply: yes'], 'Re: Hello'],
    [['Precedence: auto_reply'], 'Re: Hello'],
    [['X-Autorespond: vacation'], 'Re: Hello'],
    [[], 'Automatic reply: Hello'],
    [[], 'Out of Office: Hello'],
    [[], 'Automatische Antwort: Hallo'],
    [[], 'Réponse automatique : Bonjour'],
    [[], 'Autosvar'],
  ])('is known by %j and %s', (fields, subject) => {
    expect(classify('Beep.', fields, subject)).toMatchObject({
      kind: 'auto_reply',
      probabilities: { auto_reply: 1 },
      optOutProbability: 0,
    })
  })

  test.each([
    [['Auto-Submitted: no'], 'Re: Hello'],
    [['Precedence: bulk'], 'Re: Hello'],
    [[], 'Re: Your vacation in March'],
    [[], 'Out of office hours'],
  ])('is not known by %j and %s', (fields, subject) => {
    expect(classify('I will look at it.', fields, subject)).toBeNull()
  })

  test('takes no contacts from quoted text', () => {
    const text = `I am out of the office.\n\nFrom: Ada <ada@example.com>\nSent: Monday\nTo: eve@example.org\nWrite to mallory@example.org`
    expect(classify(text, AUTO)?.alternateContacts).toEqual([])
  })
})

const OPT_OUTS = [
  'STOP',
  'Unsubscribe',
  'unsubscribe me please.',
  'Please remove me from your mailing list. Thanks, Grace',
  'Hi Ada,\n\nPlease take me off your list.\n\nRegards,\nGrace Hopper',
  'No more emails!',
  "Don't contact me again.",
  'Abmelden',
  'Bitte keine weiteren E-Mails mehr.',
  'Hallo,\nbitte melden Sie mich ab.\nMit freundlichen Grüßen\nGrace Hopper',
  'Désabonnez-moi',
  'Désinscription, merci',
  'Darme de baja, por favor',
  'Cancellatemi dalla lista. Grazie',
  'Quero cancelar a minha subscrição',
  'Uitschrijven graag',
  'Proszę o wypisanie',
  'Avregistrera mig',
  'Afmeld mig, tak',
  'Avmeld',
  'Peru tilaus',
  'Odhlásit',
]

const NO_OPT_OUTS = [
  'Please stop by on Monday.',
  'Unsubscribe me from the other list, but keep this one.',
  'How do I unsubscribe?',
  'I did not unsubscribe, why was I removed?',
  'Stop! That is a great idea.',
  'Remove the second paragraph and send it again.',
  'Yes.',
  'Thanks, Grace',
  '',
  'Bitte melden Sie sich.',
]

describe('an opt-out', () => {
  test.each(OPT_OUTS)('is %s', text => {
    expect(classify(`${text}${QUOTE}`)).toMatchObject({
      kind: 'opt_out',
      optOutProbability: 0.95,
      autoReplyCategory: null,
    })
  })

  test.each(NO_OPT_OUTS)('is not %s', text => expect(classify(`${text}${QUOTE}`)).toBeNull())

  test('does not count in a reply that a program wrote', () => {
    expect(classify('Unsubscribe', AUTO)).toMatchObject({ kind: 'auto_reply', optOutProbability: 0 })
  })
})
