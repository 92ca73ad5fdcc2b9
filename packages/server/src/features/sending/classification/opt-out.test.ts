import { describe, expect, test } from 'vitest'
import { classify } from '../../../../test/sending/answers/classify-text.ts'

/** Lines that mail programs write between a reply and its quotation, whose words are no opt-out. */
const QUOTATIONS: ReadonlyArray<readonly [program: string, quotation: string]> = [
  ['Proton', 'On Tuesday, 10 March 2026 at 09:00, Ada <ada@example.com> wrote:\n\n> Hello'],
  [
    'Proton with its signature',
    'Sent with [Proton Mail](https://proton.example/mail/home) secure email.\n\nOn Tuesday, March 10th, 2026 at 9:00 AM, Ada <ada@example.com> wrote:\n\n> Hello',
  ],
  [
    'Proton of old',
    'Sent with ProtonMail Secure Email.\n\n‐‐‐‐‐‐‐ Original Message ‐‐‐‐‐‐‐\nOn Tuesday, March 10, 2026 9:00 AM, Ada <ada@example.com> wrote:\n\n> Hello',
  ],
  [
    'Proton in French',
    'Envoyé avec la messagerie sécurisée Proton Mail.\n\nLe mardi 10 mars 2026 à 09:00, Ada <ada@example.com> a écrit :\n\n> Bonjour',
  ],
  [
    'Proton in German',
    'Gesendet mit Proton Mail sicherer E-Mail.\n\nAm Dienstag, 10. März 2026 um 09:00, schrieb Ada <ada@example.com>:\n\n> Hallo',
  ],
  [
    'Proton on a telephone',
    'Sent from Proton Mail for iOS\n\n-------- Original Message --------\nOn 10/03/2026 09:00, Ada wrote:\n\n> Hello',
  ],
  ['Zoho', '---- On Tue, 10 Mar 2026 09:00:00 +0000 Ada <ada@example.com> wrote ----\n\n Hello'],
  [
    'Zoho with three dashes',
    '---- On Tue, 10 Mar 2026 09:00:00 +0000  Ada <ada@example.com> wrote ---\n\nHello',
  ],
  [
    'Zoho with its signature',
    'Sent using Zoho Mail\n\n---- On Tue, 10 Mar 2026 09:00:00 +0000 Ada <ada@example.com> wrote ----\nHello',
  ],
  ['Zoho in German', '---- Am Di., 10 März 2026 09:00:00 +0100 Ada <ada@example.com> schrieb ----\nHallo'],
  ['Yandex', '10.03.2026, 09:00, "Ada Lovelace" <ada@example.com>:\n> Hello'],
  ['Yandex of today', '10.03.2026, 09:00, Ada Lovelace (ada@example.com):\nHello'],
  [
    'Yandex with a rule',
    '----------------\nКому: Grace (grace@example.org);\nТема: Hello;\n10.03.2026, 09:00, "Ada" <ada@example.com>:\nHello',
  ],
  [
    'Yandex on a telephone',
    '-- \nОтправлено из мобильного приложения Яндекс Почты\n\n10.03.2026, 09:00, Ada <ada@example.com>:\nHello',
  ],
  ['Mail.ru', 'Вторник, 10 марта 2026, 9:00 +03:00 от Ada <ada@example.com>:\n \nHello'],
  ['Mail.ru, quoted', '>Вторник, 10 марта 2026, 9:00 +03:00 от Ada <ada@example.com>:\n>\n>Hello'],
  ['Mail.ru in English', 'Tuesday, 10 March 2026, 9:00 AM +03:00 from Ada <ada@example.com>:\n\nHello'],
  [
    'Mail.ru on a telephone',
    'Отправлено из Почты Mail.ru для Android\n\nВторник, 10 марта 2026, 9:00 +03:00 от Ada <ada@example.com>:\nHello',
  ],
  ['Gmail in Russian', 'вт, 10 мар. 2026 г. в 09:00, Ada <ada@example.com>:\n\n> Hello'],
  ['Gmail in Turkish', 'Ada <ada@example.com>, 10 Mar 2026 Sal, 09:00 tarihinde şunu yazdı:\n\n> Hello'],
  [
    'QQ',
    '------------------ Original ------------------\nFrom: "Ada"<ada@example.com>;\nDate: Tue, Mar 10, 2026 09:00 AM\nTo: "grace"<grace@example.org>;\nSubject: Hello\n\nHello',
  ],
  [
    'QQ with blanks',
    '------------------&nbsp;Original&nbsp;------------------\nFrom: &nbsp;"Ada"<ada@example.com>;\n\nHello'.replaceAll(
      '&nbsp;',
      '\u{a0}',
    ),
  ],
  [
    'QQ in Chinese',
    '------------------ 原始邮件 ------------------\n发件人: "Ada"<ada@example.com>;\n发送时间: 2026年3月10日(星期二) 上午9:00\n收件人: "grace"<grace@example.org>;\n主题: Hello\n\nHello',
  ],
  ['NetEase', '---- Replied Message ----\nFrom Ada<ada@example.com>\nDate 03/10/2026 09:00\n\nHello'],
  ['NetEase in Chinese', '---- 回复的原邮件 ----\n发件人 Ada<ada@example.com>\n\nHello'],
  ['NetEase of old', 'At 2026-03-10 09:00:00, "Ada" <ada@example.com> wrote:\n>Hello'],
  [
    'GMX',
    'Gesendet: Dienstag, 10. März 2026 um 09:00 Uhr\nVon: "Ada Lovelace" <ada@example.com>\nAn: grace@example.org\nBetreff: Hello\n\nHello',
  ],
  [
    'GMX, names alone',
    'Gesendet: Dienstag, 10. März 2026 um 09:00\nVon: "Ada Lovelace"\nAn: Grace\nBetreff: Hello\nHello',
  ],
  [
    'GMX in English',
    'Sent: Tuesday, March 10, 2026 at 9:00 AM\nFrom: "Ada Lovelace" <ada@example.com>\nTo: grace@example.org\nSubject: Hello\nHello',
  ],
  [
    'GMX with a blank line',
    'Gesendet: Dienstag, 10. März 2026 um 09:00 Uhr\n\nVon: Ada\nAn: Grace\nBetreff: Hello\n\nHello',
  ],
  ['Gmail in Japanese', '2026年3月10日(火) 9:00 Ada Lovelace <ada@example.com>:\n\n> Hello'],
  ['Gmail in Japanese, broken', '2026年3月10日(火) 9:00 Ada Lovelace\n<ada@example.com>:\n\n> Hello'],
  ['Gmail in Chinese', 'Ada <ada@example.com> 于2026年3月10日周二 09:00写道：\n\n> Hello'],
  ['Gmail in Korean', '2026년 3월 10일 (화) 오전 9:00, Ada <ada@example.com>님이 작성:\n\n> Hello'],
  [
    'Outlook',
    'From: Ada Lovelace\nSent: Tuesday, March 10, 2026 9:00 AM\nTo: Grace\nSubject: Hello\n\nHello',
  ],
  [
    'Outlook with a colon after stars',
    '*From:* Ada Lovelace\n*Sent:* Tuesday, March 10, 2026 9:00 AM\n*To:* Grace\n\nHello',
  ],
  [
    'Outlook on a Mac',
    'From: Ada Lovelace\nDate: Tuesday, 10 March 2026 at 09:00\nTo: Grace\nSubject: Hello\n\nHello',
  ],
  [
    'Outlook on the web, text',
    '________________________________\nFrom: Ada Lovelace\nSent: Tuesday, March 10, 2026 9:00 AM\n\nHello',
  ],
  [
    'Outlook on the web, HTML as text',
    '--------------------\n\nFrom: Ada Lovelace\nSent: Tuesday, March 10, 2026 9:00 AM\nTo: Grace\n\nHello',
  ],
  [
    'Outlook in German',
    'Von: Ada Lovelace\nGesendet: Dienstag, 10. März 2026 09:00\nAn: Grace\nBetreff: Hello\n\nHello',
  ],
  [
    'Outlook in French',
    'De : Ada Lovelace\nEnvoyé : mardi 10 mars 2026 09:00\nÀ : Grace\nObjet : Hello\n\nHello',
  ],
  [
    'Outlook in Spanish',
    'De: Ada Lovelace\nEnviado el: martes, 10 de marzo de 2026 9:00\nPara: Grace\nAsunto: Hello\n\nHello',
  ],
  [
    'Outlook in Italian',
    'Da: Ada Lovelace\nInviato: martedì 10 marzo 2026 09:00\nA: Grace\nOggetto: Hello\n\nHello',
  ],
  [
    'Outlook in Dutch',
    'Van: Ada Lovelace\nVerzonden: dinsdag 10 maart 2026 09:00\nAan: Grace\nOnderwerp: Hello\n\nHello',
  ],
  [
    'Outlook in Polish',
    'Od: Ada Lovelace\nWysłano: wtorek, 10 marca 2026 09:00\nDo: Grace\nTemat: Hello\n\nHello',
  ],
  [
    'Outlook in Swedish',
    'Från: Ada Lovelace\nSkickat: den 10 mars 2026 09:00\nTill: Grace\nÄmne: Hello\n\nHello',
  ],
  ['Outlook in Danish', 'Fra: Ada Lovelace\nSendt: 10. marts 2026 09:00\nTil: Grace\nEmne: Hello\n\nHello'],
  [
    'Outlook in Finnish',
    'Lähettäjä: Ada Lovelace\nLähetetty: tiistai 10. maaliskuuta 2026 9.00\nVastaanottaja: Grace\nAihe: Hello\n\nHello',
  ],
  [
    'Outlook in Czech',
    'Od: Ada Lovelace\nOdesláno: úterý 10. března 2026 9:00\nKomu: Grace\nPředmět: Hello\n\nHello',
  ],
  [
    'Outlook in Japanese',
    '差出人: Ada Lovelace\n送信日時: 2026年3月10日 9:00\n宛先: Grace\n件名: Hello\n\nHello',
  ],
]

describe('an opt-out above a quotation', () => {
  test.each(QUOTATIONS)('of %s', (_, quotation) => {
    expect(classify(`STOP\n\n${quotation}`)).toMatchObject({ kind: 'opt_out' })
    expect(classify(`Please remove me from your list.\nThanks,\nGrace\n\n${quotation}`)).toMatchObject({
      kind: 'opt_out',
    })
    expect(classify(`Please stop by on Monday.\n\n${quotation}`)).toBeNull()
  })

  test('of Outlook on the web, in HTML', () => {
    const html = [
      '<div>Unsubscribe</div><hr style="width:98%"><div id="divRplyFwdMsg"><font><b>From:</b> Ada Lovelace<br>',
      '<b>Sent:</b> Tuesday, March 10, 2026 9:00 AM<br><b>To:</b> Grace<br><b>Subject:</b> Hello</font></div>',
      '<div>Hello, stop by on Monday.</div>',
    ].join('\n')
    expect(classify(html, ['Content-Type: text/html; charset=utf-8'])).toMatchObject({ kind: 'opt_out' })
  })
})

describe('an opt-out in a subject', () => {
  test.each([
    ['STOP', ''],
    ['Unsubscribe', ''],
    ['unsubscribe me please', ''],
    ['Please remove me from your mailing list', ''],
    ['Abmelden', ''],
    ['Désinscription', ''],
    ['Darme de baja', ''],
    ['Unsubscribe', 'Thanks,\nGrace'],
    ['Unsubscribe', '-- \nGrace Hopper\nExample Ltd'],
    ['Unsubscribe', 'Sent from my phone'],
    ['Unsubscribe', 'On Tue, 10 Mar 2026 at 09:00, Ada <ada@example.com> wrote:\n> Hello'],
    ['Unsubscribe', 'Unsubscribe'],
  ])('%s, with the text %j', (subject, text) => {
    expect(classify(text, [], subject)).toMatchObject({ kind: 'opt_out', optOutProbability: 0.95 })
  })

  test.each([
    // It is the subject of the message that is replied to.
    ['Re: Unsubscribe', ''],
    ['AW: STOP', ''],
    ['Fwd: Unsubscribe', ''],
    ['Unsubscribe', 'Did that work?'],
    ['Unsubscribe', 'I did not ask for this, why was I removed?'],
    ['STOP', 'Wait for my call before you sign.'],
    ['How do I unsubscribe', ''],
    ['Stop by on Monday', ''],
    ['The quarterly figures', ''],
    ['', ''],
  ])('is not %s, with the text %j', (subject, text) => {
    expect(classify(text, [], subject)).toBeNull()
  })
})

describe('an opt-out', () => {
  test.each([
    'Merci de me retirer de votre liste',
    'Merci de me retirer de votre liste.',
    'Bonjour,\nMerci de me retirer de votre liste de diffusion.\nCordialement,\nGrace',
    'Veuillez me retirer de vos listes',
    'Merci de me désinscrire',
    'Merci de bien vouloir me désinscrire de cette liste',
    "Pourriez-vous me supprimer de votre liste d'envoi ?",
    'Retirez-moi de votre liste, svp',
    'Supprimez-moi de vos listes',
    'Merci de ne plus m’écrire',
    "Merci de ne plus m'envoyer de mails",
    "S'il vous plaît, désabonnez-moi",
    "'Unsubscribe'",
    "Ne m'écrivez plus",
    'Merci de supprimer mon adresse de votre liste',
    'Bitte nehmen Sie mich aus Ihrem Verteiler.',
    'Bitte streichen Sie mich von Ihrer Liste',
    'Bitte löschen Sie meine Adresse aus Ihrem Verteiler',
    'Por favor, quítenme de su lista',
    'Ruego me den de baja',
    'Vi prego di cancellarmi dalla vostra lista',
    'Por favor, retire-me da sua lista',
    'Gelieve mij uit te schrijven',
    'Proszę usunąć mnie z listy',
    'Vänligen ta bort mig från er lista',
    'Fjern mig venligst fra jeres liste',
  ])('is %s', text => expect(classify(text)).toMatchObject({ kind: 'opt_out' }))

  test.each([
    'Merci de retirer le deuxième paragraphe de votre liste',
    'Merci de me retirer de la liste des invités, mais gardez Paul',
    'Merci de me renvoyer votre liste',
    'Merci de me retirer une épine du pied',
    'Merci de ne plus attendre',
    'Bitte nehmen Sie mich in Ihren Verteiler auf',
    'Bitte löschen Sie den zweiten Absatz',
    'Ruego me den una respuesta',
    'From: the bottom of my heart, stop.\nTo: be continued',
    'Sent: yesterday. Stop asking.',
  ])('is not %s', text => expect(classify(text)).toBeNull())
})
