"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.algorithms.cfr.apcfr_plus import APCFRPlus as APCFRPlus
from counterplay.algorithms.cfr.cfr import CFR as CFR
from counterplay.algorithms.cfr.cfr_br import CFRBR as CFRBR
from counterplay.algorithms.cfr.cfr_hedge import CFRHedge as CFRHedge
from counterplay.algorithms.cfr.cfr_plus import CFRPlus as CFRPlus
from counterplay.algorithms.cfr.clairvoyant_cfr import ClairvoyantCFR as ClairvoyantCFR
from counterplay.algorithms.cfr.dcfr import DCFR as DCFR
from counterplay.algorithms.cfr.dcfr_plus import DCFRPlus as DCFRPlus
from counterplay.algorithms.cfr.ddcfr import DDCFR as DDCFR
from counterplay.algorithms.cfr.efr import EFR as EFR
from counterplay.algorithms.cfr.hs_dcfr import HSDCFR as HSDCFR
from counterplay.algorithms.cfr.hs_pcfr_plus import HSPCFRPlus as HSPCFRPlus
from counterplay.algorithms.cfr.ireg_pcfr_plus import IREGPCFRPlus as IREGPCFRPlus
from counterplay.algorithms.cfr.linear_cfr import LinearCFR as LinearCFR
from counterplay.algorithms.cfr.pcfr import PCFR as PCFR
from counterplay.algorithms.cfr.pcfr_plus import PCFRPlus as PCFRPlus
from counterplay.algorithms.cfr.pdcfr_plus import PDCFRPlus as PDCFRPlus
from counterplay.algorithms.cfr.reg_cfr import RegCFR as RegCFR
from counterplay.algorithms.cfr.rpcfr_plus import RPCFRPlus as RPCFRPlus
from counterplay.algorithms.cfr.rt_cfr_plus import RTCFRPlus as RTCFRPlus
from counterplay.algorithms.cfr.sapcfr_plus import SAPCFRPlus as SAPCFRPlus
from counterplay.algorithms.cfr.smooth_pcfr_plus import SmoothPCFRPlus as SmoothPCFRPlus
from counterplay.algorithms.cfr.trace import CFRTrace as CFRTrace
from counterplay.algorithms.cfr.trace import InfosetStep as InfosetStep
from counterplay.algorithms.deep.deep_hedge import DeepHedge as DeepHedge
from counterplay.algorithms.deep.league import League as League
from counterplay.algorithms.deep.nfsp.nfsp import NFSP as NFSP
from counterplay.algorithms.deep.nfsp.nfsp_ppo import NFSPPPO as NFSPPPO
from counterplay.algorithms.deep.nfsp.nfsp_sac import NFSPSAC as NFSPSAC
from counterplay.algorithms.deep.policy_gradient.ach import ACH as ACH
from counterplay.algorithms.deep.policy_gradient.deep_mmd import DeepMMD as DeepMMD
from counterplay.algorithms.deep.policy_gradient.neurd import NeuRD as NeuRD
from counterplay.algorithms.deep.policy_gradient.ppo import PPO as PPO
from counterplay.algorithms.deep.policy_gradient.public_chance_mmd import (
    PublicChanceMMD as PublicChanceMMD,
)
from counterplay.algorithms.deep.policy_gradient.qpg import QPG as QPG
from counterplay.algorithms.deep.policy_gradient.r_nad import RNaD as RNaD
from counterplay.algorithms.deep.policy_gradient.reinforce import REINFORCE as REINFORCE
from counterplay.algorithms.deep.policy_gradient.rmpg import RMPG as RMPG
from counterplay.algorithms.deep.policy_gradient.rpg import RPG as RPG
from counterplay.algorithms.deep.rebel import ReBeL as ReBeL
from counterplay.algorithms.deep.regret.deep_cfr import DeepCFR as DeepCFR
from counterplay.algorithms.deep.regret.dream import DREAM as DREAM
from counterplay.algorithms.deep.regret.escher import ESCHER as ESCHER
from counterplay.algorithms.deep.regret.public_chance_deep_cfr import (
    PublicChanceDeepCFR as PublicChanceDeepCFR,
)
from counterplay.algorithms.deep.regret.sd_cfr import SDCFR as SDCFR
from counterplay.algorithms.deep.regret.vr_deep_dcfr_plus import VRDeepDCFRPlus as VRDeepDCFRPlus
from counterplay.algorithms.deep.regret.vr_deep_pdcfr_plus import VRDeepPDCFRPlus as VRDeepPDCFRPlus
from counterplay.algorithms.exact.sequence_form_lp import SequenceFormLP as SequenceFormLP
from counterplay.algorithms.exact.sequence_form_lp import (
    solve_sequence_form_lp as solve_sequence_form_lp,
)
from counterplay.algorithms.fictitious_play.batch_fsp import BatchFSP as BatchFSP
from counterplay.algorithms.fictitious_play.fsp import FSP as FSP
from counterplay.algorithms.fictitious_play.general_fsp import GeneralFSP as GeneralFSP
from counterplay.algorithms.fictitious_play.table_lookup_fsp import TableLookupFSP as TableLookupFSP
from counterplay.algorithms.fictitious_play.xfp import XFP as XFP
from counterplay.algorithms.mccfr.average_strategy_sampling import (
    AverageStrategySampling as AverageStrategySampling,
)
from counterplay.algorithms.mccfr.chance_sampling import ChanceSampling as ChanceSampling
from counterplay.algorithms.mccfr.external_sampling import ExternalSampling as ExternalSampling
from counterplay.algorithms.mccfr.online_outcome_sampling import OnlineLearner as OnlineLearner
from counterplay.algorithms.mccfr.online_outcome_sampling import (
    OnlineOutcomeSampling as OnlineOutcomeSampling,
)
from counterplay.algorithms.mccfr.outcome_sampling import OutcomeSampling as OutcomeSampling
from counterplay.algorithms.mccfr.probing import Probing as Probing
from counterplay.algorithms.mccfr.vr_mccfr import VRMCCFR as VRMCCFR
from counterplay.algorithms.mccfr.vr_mccfr_plus import VRMCCFRPlus as VRMCCFRPlus
from counterplay.algorithms.population.alpha_psro import AlphaPSRO as AlphaPSRO
from counterplay.algorithms.population.anytime_psro import AnytimePSRO as AnytimePSRO
from counterplay.algorithms.population.double_oracle import DoubleOracle as DoubleOracle
from counterplay.algorithms.population.jpsro import JPSRO as JPSRO
from counterplay.algorithms.population.nxdo import NXDO as NXDO
from counterplay.algorithms.population.p2sro import P2SRO as P2SRO
from counterplay.algorithms.population.psro import PSRO as PSRO
from counterplay.algorithms.population.rectified_psro import RectifiedPSRO as RectifiedPSRO
from counterplay.algorithms.population.sp_psro import SPPSRO as SPPSRO
from counterplay.algorithms.population.xdo import XDO as XDO
from counterplay.algorithms.regularised.mmd import MMD as MMD
from counterplay.algorithms.regularised.qre import QRE as QRE
from counterplay.algorithms.regularised.tabular_r_nad import TabularRNaD as TabularRNaD

__all__ = [
    "ACH",
    "APCFRPlus",
    "AlphaPSRO",
    "AnytimePSRO",
    "AverageStrategySampling",
    "BatchFSP",
    "CFR",
    "CFRBR",
    "CFRHedge",
    "CFRPlus",
    "CFRTrace",
    "ChanceSampling",
    "ClairvoyantCFR",
    "DCFR",
    "DCFRPlus",
    "DDCFR",
    "DREAM",
    "DeepCFR",
    "DeepHedge",
    "DeepMMD",
    "DoubleOracle",
    "EFR",
    "ESCHER",
    "ExternalSampling",
    "FSP",
    "GeneralFSP",
    "HSDCFR",
    "HSPCFRPlus",
    "IREGPCFRPlus",
    "InfosetStep",
    "JPSRO",
    "League",
    "LinearCFR",
    "MMD",
    "NFSP",
    "NFSPPPO",
    "NFSPSAC",
    "NXDO",
    "NeuRD",
    "OnlineLearner",
    "OnlineOutcomeSampling",
    "OutcomeSampling",
    "P2SRO",
    "PCFR",
    "PCFRPlus",
    "PDCFRPlus",
    "PPO",
    "PSRO",
    "Probing",
    "PublicChanceDeepCFR",
    "PublicChanceMMD",
    "QPG",
    "QRE",
    "REINFORCE",
    "RMPG",
    "RNaD",
    "RPCFRPlus",
    "RPG",
    "RTCFRPlus",
    "ReBeL",
    "RectifiedPSRO",
    "RegCFR",
    "SAPCFRPlus",
    "SDCFR",
    "SPPSRO",
    "SequenceFormLP",
    "SmoothPCFRPlus",
    "TableLookupFSP",
    "TabularRNaD",
    "VRDeepDCFRPlus",
    "VRDeepPDCFRPlus",
    "VRMCCFR",
    "VRMCCFRPlus",
    "XDO",
    "XFP",
    "solve_sequence_form_lp",
]
