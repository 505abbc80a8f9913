"""Trains the small XLM-R style tokenizer: python train.py > tokenizer.json

Needs the packages sentencepiece and protobuf. The text is the demo vault, the
golden texts and the lines below, all ours; the form of the file is that of
multilingual-e5-small, with SentencePiece's own nmt_nfkc table in it.
"""
import base64, glob, io, json, os, sys
import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as pb

os.chdir(os.path.dirname(os.path.abspath(__file__)))
lines = """Die Rosen an der Mauer wurden im März kräftig zurückgeschnitten; nach einer Woche trieben sie wieder aus.
Größere Übungen für später: Straße, Äpfel, Öl und Fußweg.
Les rosiers du mur ont été taillés sévèrement en mars ; l'œuvre du jardinier n'était pas finie.
Où est passé le garçon ? Ça ne fait rien, nous l'attendrons à l'hôtel.
Las rosas del muro se podaron con fuerza en marzo; mañana volverá el señor de las peñas.
Le rose del muro sono state potate a marzo; perché no? Così è più semplice.
As rosas do muro foram podadas em março; não há razão para preocupação, irmãos.
De rozen bij de muur zijn in maart flink gesnoeid; het ijs smelt.
Róże przy murze zostały mocno przycięte w marcu; źdźbło, żółw, ćma, łąka.
Růže u zdi byly v březnu silně seříznuty; příliš žluťoučký kůň.
Розы у стены сильно подрезали в марте; через неделю появились новые побеги.
Троянди біля муру сильно підрізали в березні; їжак і ґанок.
Τα τριαντάφυλλα δίπλα στον τοίχο κλαδεύτηκαν τον Μάρτιο· η γάτα κοιμάται.
הוורדים ליד הקיר נגזמו במרץ, ותוך שבוע הופיעו נצרים חדשים.
تم تقليم الورود بجانب الجدار بشدة في مارس، وظهرت براعم جديدة خلال أسبوع.
दीवार के पास के गुलाबों को मार्च में काटा गया था; एक सप्ताह में नई टहनियाँ आ गईं।
กุหลาบข้างกำแพงถูกตัดแต่งในเดือนมีนาคม และแตกยอดใหม่ภายในหนึ่งสัปดาห์
墙边的玫瑰在三月被重剪,一周之内长出了十来根新枝。会议记录和待办事项。
壁際のバラは三月に強く剪定され、一週間で新しい芽が出ました。カタカナとひらがな。
담 옆의 장미는 삼월에 강하게 가지치기를 했고 일주일 만에 새순이 났다.
Hoa hồng bên tường được cắt tỉa mạnh vào tháng Ba; một tuần sau đã nảy mầm.
Duvarın yanındaki güller mart ayında sertçe budandı; ılık bir İstanbul sabahı.
Muurin ruusut leikattiin maaliskuussa; viikossa kasvoi kymmenkunta versoa.
query: how do I prune roses? passage: The roses by the wall were cut back hard in March.""".splitlines()
for path in sorted(glob.glob("../../demo/vault/**/*.md", recursive=True)):
    lines += open(path, encoding="utf-8").read().splitlines()
for line in open("../embedding/tiny-bert-48.jsonl", encoding="utf-8"):
    text = json.loads(line)["text"]
    if len(text) < 2000:
        lines += text.encode("utf-8", "replace").decode().splitlines()

model = io.BytesIO()
spm.SentencePieceTrainer.train(
    sentence_iterator=iter(lines), model_writer=model, model_type="unigram", vocab_size=3000,
    character_coverage=0.98, normalization_rule_name="nmt_nfkc", num_threads=1,
    unk_id=0, bos_id=1, eos_id=2, pad_id=-1, hard_vocab_limit=False, minloglevel=1)
proto = pb.ModelProto.FromString(model.getvalue())

vocab = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
vocab += [[p.piece, p.score] for p in proto.pieces[3:]] + [["<mask>", 0.0]]
added = [(0, "<s>"), (1, "<pad>"), (2, "</s>"), (3, "<unk>"), (len(vocab) - 1, "<mask>")]
json.dump({
    "version": "1.0",
    "truncation": {"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 0},
    "padding": {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 1, "pad_type_id": 0, "pad_token": "<pad>"},
    "added_tokens": [{"id": i, "content": t, "single_word": False, "lstrip": t == "<mask>", "rstrip": False,
                      "normalized": False, "special": True} for i, t in added],
    "normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}]},
    "post_processor": {"type": "TemplateProcessing",
                       "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                  {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                       "pair": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                {"SpecialToken": {"id": "</s>", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}},
                                {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                       "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for i, t in ((0, "<s>"), (2, "</s>"))}},
    "decoder": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
    "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab},
}, sys.stdout, ensure_ascii=False, separators=(",", ":"))
